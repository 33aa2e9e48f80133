"""Links as rows of numbers, the parameters that modes paper and correlated derive from them, and the links of scenario `world`.

Paths are hops over links: endpoint -> 0, 1 or 2 relays -> user (VCRoute paper, II-C and VI-A; users never relay). Nodes of one call are
numbered 0 = sender, 1..n = relays, n + 1 = receiver. The order of paths is fixed, so that an index means the same everywhere: the direct
path, then one relay by number, then two relays in lexicographic order.

A row (dtype `LINK`) holds the fitted distribution of one link, in round-trip times; `nan` marks an unknown parameter. In scenario `world`
the cities' names determine pairs, relays and splits.
"""

import functools
import hashlib
import importlib.resources
import math
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import DataError, Link
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import read_content
from vcgym.network.worlds.quantiles import beta_table, lognormal_table

BURSTS = ("worst", "median")
_LAW = ("low_ms", "high_ms", "a", "b")
LINK = np.dtype(
    [(name, "f8") for name in ("base_ms", "log_mean", "log_sd", "loss")]
    + [(f"{burst}_{name}", "f8") for burst in ("median", "worst") for name in _LAW]
    + [("bad_share", "f8"), ("bad_level_ms", "f8")]
)

# Cities with data centres of large clouds, widely spread ones first. A pair's relays are the first cities that are not its endpoints.
DATA_CENTRES = (
    "Washington", "London", "Tokyo", "Singapore", "LosAngeles", "Amsterdam", "HongKong", "Melbourne", "Dallas", "Santiago", "Stockholm",
    "Milan", "Pune", "SanJose", "Dublin", "Osaka", "Toronto", "CapeTown", "Dubai", "Madrid", "Warsaw",
)  # fmt: skip
MIN_RELAYS, MAX_RELAYS = 10, len(DATA_CENTRES) - 2
SAMPLE = "world_links.csv.gz"
MAX_RELAYS_ON_PATH = 2
NO_LINK = -1
_LARGEST = 1e6  # largest number allowed in the sample
COLUMNS = ("source", "destination", "is_pair", *(LINK.names or ()))


def row_of(link: Link) -> tuple[float, ...]:
    """Return a table's link as a row; a link without statistics of bad hours gets share 0."""
    laws = (tuple(getattr(law, name) for name in _LAW) if law is not None else (math.nan,) * 4 for law in (link.median, link.worst))
    hours = link.bad_hours
    return (
        link.queue.base_ms, link.queue.log_mean, link.queue.log_sd, link.loss or 0.0, *next(laws), *next(laws),
        hours.share if hours else 0.0, hours.level_ms if hours else 0.0,
    )  # fmt: skip


def paper_parameters(rows: NDArray[Any], burst: str, share_of_rtt: float) -> dict[str, Any]:
    """Return the parameters of `Paper`: per link a quantile table of its Beta law for `burst`, else the other burst, else queueing."""
    other = BURSTS[1 - BURSTS.index(burst)]
    tables = []
    for row in rows:
        known = next((name for name in (burst, other) if not math.isnan(row[f"{name}_a"])), None)
        if known is None:
            tables.append(_queue_quantiles(row["base_ms"], row["log_mean"], row["log_sd"]))
        else:
            tables.append(_beta_quantiles(*(row[f"{known}_{name}"] for name in _LAW)))
    return {"quantiles_ms": np.array(tables) * share_of_rtt, "loss": rows["loss"].copy()}


def correlated_parameters(rows: NDArray[Any], tau_ms: float, share_of_rtt: float) -> dict[str, Any]:
    """Return the parameters of `Correlated` for links in an ordinary hour."""
    return {
        "base_ms": rows["base_ms"] * share_of_rtt,
        "log_mean": rows["log_mean"] + math.log(share_of_rtt),
        "log_sd": rows["log_sd"].copy(),
        "loss": rows["loss"].copy(),
        "tau_ms": tau_ms,
    }


# Making a table takes about as long as playing a call, and all pairs share the links between relays.
_beta_quantiles = functools.lru_cache(maxsize=4096)(beta_table)
_queue_quantiles = functools.lru_cache(maxsize=4096)(lognormal_table)


class WorldLinks(NamedTuple):
    """Links between named cities."""

    row: dict[tuple[str, str], int]  # number of each known link (source, destination)
    links: NDArray[Any]  # dtype `LINK`, by link number
    pairs: tuple[str, ...]  # sender-receiver names that may be sampled, in a fixed order
    card: str  # sha256 of the data


def relays_of(pair: str, count: int) -> list[str]:
    """Return the first `count` data centres that are not endpoints of the pair."""
    ends = pair.split("-")
    return [city for city in DATA_CENTRES if city not in ends][:count]


def split_of(pair: str) -> str:
    """Return the split of a pair, in proportions 3 : 1 : 1 by a hash of its two cities, so that both directions are in one split."""
    number = int.from_bytes(hashlib.sha256("-".join(sorted(pair.split("-"))).encode()).digest()[:8], "big")
    return ("train", "train", "train", "validation", "test")[number % 5]


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


@functools.cache
def load_sample(root: Path | None = None) -> WorldLinks:
    """Load the shipped sample of pairs, or the file of the same name below a data root, with all pairs; see `data/README.md`.

    Raises:
        DataError: the content is malformed or does not match its card.
    """
    with importlib.resources.as_file((root or importlib.resources.files("vcgym.data")).joinpath(SAMPLE)) as path:
        content = read_content(path)
        return parse_sample(path, content, card_beside(path, content).sha256)


def parse_sample(path: Path, content: bytes, card: str) -> WorldLinks:
    """Parse the sample's CSV; `path` appears in errors.

    Raises:
        DataError: a malformed line; the message names line, value and allowed values.
    """
    table = read_table(path, content)
    if tuple(table.header) != COLUMNS:
        raise DataError(path, "line 1, header", table.header, ", ".join(COLUMNS))
    source, destination, is_pair = (table.cells(name) for name in COLUMNS[:3])
    row = {link: number for number, link in enumerate(zip(source, destination, strict=True))}
    links = np.empty(len(table.lines), LINK)
    for name in LINK.names or ():
        links[name] = table.numbers(name, -_LARGEST, _LARGEST)
    pairs = tuple(f"{a}-{b}" for a, b, listed in zip(source, destination, is_pair, strict=True) if listed == "1")
    return WorldLinks(row, links, pairs, card)
