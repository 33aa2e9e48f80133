"""Links between the cities of scenario `world`; the cities' names determine pairs, relays and splits."""

import functools
import hashlib
import importlib.resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import read_content
from vcgym.network.worlds.links import LINK

# Cities with data centres of large clouds, widely spread ones first. A pair's relays are the first cities that are not its endpoints.
DATA_CENTRES = (
    "Washington", "London", "Tokyo", "Singapore", "LosAngeles", "Amsterdam", "HongKong", "Melbourne", "Dallas", "Santiago", "Stockholm",
    "Milan", "Pune", "SanJose", "Dublin", "Osaka", "Toronto", "CapeTown", "Dubai", "Madrid", "Warsaw",
)  # fmt: skip
MIN_RELAYS, MAX_RELAYS = 10, len(DATA_CENTRES) - 2
SAMPLE = "world_links.csv.gz"
_LARGEST = 1e6  # largest number allowed in the sample
COLUMNS = ("source", "destination", "is_pair", *(LINK.names or ()))


class WorldLinks(NamedTuple):
    """Links between named cities.

    Attributes:
        row: number of each known link (source, destination).
        links: dtype `LINK`, by link number.
        pairs: sender-receiver names that may be sampled, in a fixed order.
        card: sha256 of the data.
    """

    row: dict[tuple[str, str], int]
    links: NDArray[Any]
    pairs: tuple[str, ...]
    card: str


def relays_of(pair: str, count: int) -> list[str]:
    """Return the first `count` data centres that are not endpoints of the pair."""
    ends = pair.split("-")
    return [city for city in DATA_CENTRES if city not in ends][:count]


def split_of(pair: str) -> str:
    """Return the split of a pair, in proportions 3 : 1 : 1 by a hash of its two cities, so that both directions are in one split."""
    number = int.from_bytes(hashlib.sha256("-".join(sorted(pair.split("-"))).encode()).digest()[:8], "big")
    return ("train", "train", "train", "validation", "test")[number % 5]


@functools.cache
def load_sample() -> WorldLinks:
    """Load the shipped sample of pairs; see `vcgym.network.fitting.world`.

    Raises:
        DataError: the content is malformed or does not match its card.
    """
    with importlib.resources.as_file(importlib.resources.files("vcgym.data").joinpath(SAMPLE)) as path:
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
