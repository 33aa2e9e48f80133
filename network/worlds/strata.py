"""Strata of correlated worlds: the links that have a bad hour during a call. Declared; the data determine levels and tails only.

Source and destination explain most of the variance of measured bad hours, so these belong to nodes more than to links. Routing can avoid
some (`best-link`, `many-links`, `relay-node`) but not others (`user-node`); in `transition` a bad hour begins or ends during the call.
The natural mix (`NATURAL`) samples the bad hours of each link with the share fitted to that link.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.worlds.links import relay_sequences
from vcgym.network.worlds.world import FAR_SLOT

STRATA = {"quiet": 0.15, "best-link": 0.10, "many-links": 0.20, "relay-node": 0.25, "user-node": 0.15, "transition": 0.15}
NATURAL = "natural"
BAD_HOP_PROBABILITY = 0.3
ALWAYS = FAR_SLOT
HOUR_SLOTS = 3_600_000_000 // SLOT_US


def declared_bad_hours(
    stratum: str,
    base_ms: NDArray[np.float64],
    links: list[tuple[int, int]],
    path_links: NDArray[np.int64],
    packets: int,
    draws: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample the first and last + 1 slot of each link's bad hour in a declared stratum; (0, 0) for a link without one.

    Args:
        stratum: a key of `STRATA`.
        base_ms: base delay of each link, the receiver's access last.
        links: (from node, to node) of each link except the access; node 0 sends, the highest node receives.
        path_links: (paths, maximum links of a path), the access in the last column.
        packets: length of the call in slots.
        draws: random generator of the world.
    """
    bad = _bad_links(stratum, base_ms, links, path_links, draws)
    begin, end = -ALWAYS, ALWAYS
    if stratum == "transition":
        border = int(packets * (0.2 + 0.6 * draws.random()))
        begin, end = (border, ALWAYS) if draws.random() < 0.5 else (-ALWAYS, border)
    return np.where(bad, begin, 0), np.where(bad, end, 0)


def natural_bad_hours(share: NDArray[np.float64], draws: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample the same from each link's fitted `share` of bad hours, links and hours independent; the call starts within an hour."""
    border = int(draws.integers(1, HOUR_SLOTS + 1))
    before, after = draws.random((2, len(share))) < share
    begin = np.where(before, -ALWAYS, np.where(after, border, 0))
    end = np.where(after, ALWAYS, np.where(before, border, 0))
    return begin, end


def _bad_links(
    stratum: str, base_ms: NDArray[np.float64], links: list[tuple[int, int]], path_links: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.bool_]:
    ends = np.array(links)
    receiver, access = int(ends.max()), len(links)
    delays: NDArray[Any] = np.where(path_links >= 0, base_ms[path_links], 0.0).sum(axis=1)
    order = np.argsort(delays, kind="stable")
    best_hops = [link for link in path_links[order[0]] if 0 <= link < access]
    bad = np.zeros(len(base_ms), bool)
    if stratum in ("best-link", "transition"):
        bad[draws.choice(best_hops)] = True
    if stratum in ("many-links", "transition"):
        bad[:access] |= draws.random(access) < BAD_HOP_PROBABILITY
    if stratum == "many-links":
        bad[best_hops] = True
    if stratum == "relay-node":
        relays_of = relay_sequences(receiver - 1)
        best_relay = next((relays_of[p][0] for p in order if relays_of[p]), 0)
        bad[:access] |= (ends == best_relay).any(axis=1)
        bad[path_links[0][0]] = True
    if stratum == "user-node":
        bad[access] = True
    return bad
