"""Links of scenario `world`: users in every measured city of WonderProxy's pings, relays in data-centre cities.

`fit_world` fits all links. The package ships a sample (`lab.shipped.sets.world_sample`).
"""

import hashlib
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from vcgym.network.fitting.links import fit_links
from vcgym.network.fitting.statistics_rows import FOLDER, Burst, Pooled, read_rows
from vcgym.network.traces.cards import DataError, Place
from vcgym.network.worlds.links import LINK, MAX_RELAYS, WorldLinks, relays_of, row_of

FILES = ("servers.csv", "all_pairs_burst_medians.csv.gz", "all_pairs_two_day_pooled.csv.gz")

class PingServer(BaseModel):
    """A row of `servers.csv`; some rows have no description."""

    id: int = Field(ge=0)
    name: str


def fit_world(root: Path) -> WorldLinks:
    """Fit all links from the folder `wonderproxy` under `root`.

    A pair may be sampled if every link of its call with MAX_RELAYS relays is known. Pairs with both endpoints among the ten places of
    scenario `wonderproxy` are excluded, since that scenario has its own splits.

    Raises:
        DataError: a file is missing or a row is malformed.
    """
    names = city_names(root)
    bursts = [named(row, names) for row in read_rows(root, FILES[1], Burst)]
    pooled = {(row.src, row.dst): row for row in (named(row, names) for row in read_rows(root, FILES[2], Pooled))}
    fitted = fit_links(bursts, pooled)
    row = {(link.source, link.destination): number for number, link in enumerate(fitted)}
    ten = {place.name for place in read_rows(root, "ten_places.csv", Place)}
    pairs = tuple(f"{a}-{b}" for a, b in sorted(row) if not {a, b} <= ten and _is_complete(f"{a}-{b}", row))
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((root / FOLDER / name).read_bytes())
    return WorldLinks(row, np.array([row_of(link) for link in fitted], LINK), pairs, digest.hexdigest())


def city_names(root: Path) -> dict[str, str]:
    """Return the city of each server, by server number; `server<number>` if unknown."""
    return {str(server.id): server.name or f"server{server.id}" for server in read_rows(root, FILES[0], PingServer)}


def named(row: Any, names: dict[str, str]) -> Any:
    """Return a row of two servers with their cities, see `city_names`."""
    if unknown := {row.src, row.dst} - names.keys():
        raise DataError(FILES[0], "server", min(unknown), "every server of the pings")
    return row.model_copy(update={"src": names[row.src], "dst": names[row.dst]})


def _is_complete(pair: str, row: dict[tuple[str, str], int]) -> bool:
    sender, receiver = pair.split("-")
    nodes = relays_of(pair, MAX_RELAYS)
    return all((sender, relay) in row and (relay, receiver) in row for relay in nodes) and all(hop in row for hop in permutations(nodes, 2))
