"""Links of scenario `world`: users in every measured city of WonderProxy's pings, relays in data-centre cities.

A sample ships: all links between users and data centres and among data centres, and direct links of pairs. The pairs
are stratified: three classes of direct base round-trip time times three classes of average round-trip time saved by the best relayed path
over the first ten data centres. `write_all` writes all links and pairs, which ``Scenario("world", data=FOLDER)`` reads.
"""

import csv
import gzip
import hashlib
import io
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from lab.shipped.sets.link_fits import FOLDER, Burst, Pooled, fit_links, read_rows
from lab.shipped.sets.tables import DIGITS, LICENCE, SOURCE
from vcgym.network.traces.cards import Card, DataError, Place, card_path
from vcgym.network.worlds.links import COLUMNS, DATA_CENTRES, LINK, MAX_RELAYS, MIN_RELAYS, WorldLinks, relays_of, row_of

RTT_CLASSES_MS = (100.0, 250.0)
GAIN_CLASSES = (0.0, 0.1)  # share of the direct average round trip that the best relayed path saves
PAIRS_PER_CELL = 100
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


def sample_pairs(root: Path, world: WorldLinks) -> list[str]:
    """Return up to PAIRS_PER_CELL pairs of each stratum, in order of a hash of their names."""
    saved = _saved_shares(_averages(root), list(DATA_CENTRES[:MIN_RELAYS]))
    cells: dict[tuple[int, int], list[str]] = {}
    for pair in sorted(world.pairs, key=lambda pair: hashlib.sha256(pair.encode()).digest()):
        sender, receiver = pair.split("-")
        base_ms = world.links["base_ms"][world.row[sender, receiver]]
        cell = int(np.searchsorted(RTT_CLASSES_MS, base_ms)), int(np.searchsorted(GAIN_CLASSES, saved[sender, receiver]))
        cells.setdefault(cell, []).append(pair)
    return sorted(pair for pairs in cells.values() for pair in pairs[:PAIRS_PER_CELL])


def write_sample(root: Path, output: Path) -> None:
    """Write the sample as gzip CSV to `output`, with its card."""
    world = fit_world(root)
    pairs = sample_pairs(root, world)
    users = sorted({city for pair in world.pairs for city in pair.split("-")} - set(DATA_CENTRES))
    near = [*permutations(DATA_CENTRES, 2), *((a, b) for city in users for dc in DATA_CENTRES for a, b in ((city, dc), (dc, city)))]
    direct = {(sender, receiver) for sender, receiver in (pair.split("-") for pair in pairs)}
    description = (
        f"Fitted parameters of the links between {len(users) + len(DATA_CENTRES)} cities and {len(DATA_CENTRES)} data-centre "
        f"cities, and of the direct links of {len(pairs)} pairs (is_pair = 1): up to {PAIRS_PER_CELL} of each of nine cells, base round "
        f"trip up to {RTT_CLASSES_MS[0]:g}, up to {RTT_CLASSES_MS[1]:g} ms and above, by what the best path over the first {MIN_RELAYS} "
        f"data centres saves (nothing, up to {GAIN_CLASSES[1]:.0%}, more), in the order of a hash of the names"
    )
    _write(world, sorted({*near, *direct} & world.row.keys()), direct, f".{DIGITS}g", output, description)


def write_all(root: Path, output: Path) -> None:
    """Write all fitted links and pairs, unrounded, as gzip CSV to `output`, with its card; `output` is FOLDER/world_links.csv.gz."""
    world = fit_world(root)
    pairs = {(sender, receiver) for sender, receiver in (pair.split("-") for pair in world.pairs)}
    _write(world, sorted(world.row), pairs, "", output, f"Fitted parameters of all {len(world.row)} links and {len(pairs)} pairs")


def _write(
    world: WorldLinks, links: Iterable[tuple[str, str]], pairs: set[tuple[str, str]], digits: str, output: Path, description: str
) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for link in links:
        table.writerow([*link, int(link in pairs), *(f"{value:{digits}}" for value in world.links[world.row[link]])])
    content = text.getvalue().encode()
    output.write_bytes(gzip.compress(content, mtime=0))
    card = Card(
        name="world_links",
        description=description,
        source=SOURCE,
        licence=LICENCE,
        sha256=hashlib.sha256(content).hexdigest(),
        kind="fitted",
        units="round-trip milliseconds; log_mean is the natural logarithm of milliseconds; loss, shares, a, b, log_sd without unit",
    )
    card_path(output).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _averages(root: Path) -> dict[tuple[str, str], float]:
    names = city_names(root)
    return {(row.src, row.dst): row.avg_ms for row in (named(row, names) for row in read_rows(root, FILES[1], Burst))}


def _saved_shares(averages: dict[tuple[str, str], float], relays: list[str]) -> dict[tuple[str, str], float]:
    """Return the share of each direct average that the best path over one or two relays saves; negative if it is slower."""
    cities = sorted({city for link in averages for city in link})
    number = {city: i for i, city in enumerate(cities)}
    ms = np.full((len(cities), len(cities)), np.inf)
    for (a, b), value in averages.items():
        ms[number[a], number[b]] = value
    at = [number[relay] for relay in relays]
    best = _lowest(ms[:, i, None] + ms[None, i] for i in at)
    best = np.minimum(best, _lowest((ms[:, i] + ms[i, j])[:, None] + ms[None, j] for i, j in permutations(at, 2)))
    return {(a, b): float(1.0 - best[number[a], number[b]] / value) for (a, b), value in averages.items()}


def _lowest(tables: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    tables = iter(tables)
    lowest = next(tables).copy()
    for table in tables:
        np.minimum(lowest, table, out=lowest)
    return lowest
