"""Paths over hops: endpoint -> 0, 1 or 2 relays -> user (VCRoute paper, II-C and VI-A; users never relay).

Nodes of one call are numbered 0 = sender, 1..n = relays, n + 1 = receiver. The order of paths is fixed, so that an index means the same
everywhere: the direct path, then one relay by number, then two relays in lexicographic order.
"""

from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

MAX_RELAYS_ON_PATH = 2
NO_LINK = -1


def relay_sequences(relays: int) -> list[tuple[int, ...]]:
    """Return the relays crossed by each path, in path order.

    Args:
        relays: number of relays of the call, >= 0.

    Returns:
        ``1 + n + n (n - 1)`` tuples of relay numbers 1..n; the first is empty (the direct path).

    Raises:
        ValueError: `relays` is negative.
    """
    if relays < 0:
        raise ValueError(f"relays = {relays}: allowed are integers >= 0")
    nodes = range(1, relays + 1)
    return [sequence for count in range(MAX_RELAYS_ON_PATH + 1) for sequence in permutations(nodes, count)]


def links_and_paths(relays: int) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Return the directed links of a call and the links of each path.

    Returns:
        The links as (from node, to node), in order of first use by the paths; and an int64 array (paths, 3) of link indices, padded with
        `NO_LINK`.
    """
    links: list[tuple[int, int]] = []
    rows = []
    for sequence in relay_sequences(relays):
        nodes = (0, *sequence, relays + 1)
        hops = list(pairwise(nodes))
        links += [hop for hop in hops if hop not in links]
        rows.append([links.index(hop) for hop in hops] + [NO_LINK] * (MAX_RELAYS_ON_PATH + 1 - len(hops)))
    return links, np.array(rows, dtype=np.int64)
