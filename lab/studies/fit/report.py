"""Comparison of shipped parameters with the measurements they were fitted to, by sampling the worlds.

Each link of a table becomes a path of one world, with round-trip times as delays. Pings are sampled from the world once per second (mode
correlated) or once per slot (mode paper, where slots are independent), 30 per burst, and compared with the measured bursts. Two days are
ordinary and bad hours in the fitted shares.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.shipped.sets.cloud import REGIONS, RUN_PINGS, find_run, read_runs
from vcgym.network.fitting.links import BURST_PINGS, bad_hour
from vcgym.network.fitting.statistics_rows import Burst, Pooled, read_rows
from vcgym.network.fitting.world import FILES, city_names
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.scenarios.settings import TAU_MS
from vcgym.network.traces.cards import load_links
from vcgym.network.worlds.correlated import CorrelatedWorld
from vcgym.network.worlds.links import LINK, correlated_parameters, paper_parameters, row_of
from vcgym.network.worlds.paper import PaperWorld
from vcgym.network.worlds.strata import ALWAYS
from vcgym.network.worlds.world import World, WorldDraw, blocks
from vcgym.network.worlds.world_links import load_sample

BURSTS_DRAWN = 60
MIN_BURSTS = 3
WORLD_LINKS = 200  # number of direct links sampled
PING_SLOTS = 1_000_000 // SLOT_US
_SEED = 1


class FitRow(NamedTuple):
    """Statistic of one distribution over all links, ms: medians over links, and median and 90th percentile of the absolute error."""

    scenario: str
    law: str
    statistic: str
    links: int
    measured: float
    drawn: float
    error_median: float
    error_p90: float


class _Known(NamedTuple):
    rows: NDArray[Any]  # dtype LINK
    bursts: NDArray[np.float64]  # (links, 4): medians of min, avg, max, mdev
    days: NDArray[np.float64]  # (links, 4): two-day min, mean, max, sd; nan if not measured
    pings: int = BURST_PINGS  # per burst


def fit_report(name: str, root: Path) -> list[FitRow]:
    """Return the comparison of scenario wonderproxy, world or cloud with the statistics under `root`.

    Raises:
        DataError: a file is missing or broken.
    """
    known = {"wonderproxy": _ten_places, "world": _world, "cloud": _cloud}[name](root)
    ordinary = _correlated(known.rows, bad=False)
    rows = [*_burst_rows(name, "correlated, ordinary hour", known.bursts, _pings(ordinary, PING_SLOTS, known.pings))]
    rows += _burst_rows(name, "paper, median burst", known.bursts, _pings(_paper(known.rows, "median"), 1, known.pings))
    measured = ~np.isnan(known.days[:, 0])
    if measured.any():
        rows += _worst_rows(name, known, measured)
        rows += _day_rows(name, known, measured)
    return rows


def _pings(world: World, every: int, pings: int = BURST_PINGS) -> NDArray[np.float64]:
    """Return pings in ms, (links, bursts, pings), one per `every` slots; BURSTS_DRAWN bursts of the usual length, fewer if longer."""
    bursts = max(BURSTS_DRAWN * BURST_PINGS // pings, MIN_BURSTS)
    slots = bursts * pings * every
    taken, first = [], 0
    for block in blocks(world, slots):
        taken.append(block[:, np.arange((-first) % every, BLOCK_SLOTS, every)])
        first += BLOCK_SLOTS
    ms = np.concatenate(taken, axis=1)[:, : bursts * pings] / 1000.0
    return ms.reshape(len(ms), bursts, pings)


def _started(world: World, parameters: dict[str, Any]) -> World:
    world.start(0, WorldDraw("links", "side by side", _SEED, parameters))
    return world


def _paper(rows: NDArray[Any], burst: str) -> World:
    return _started(PaperWorld(1, np.arange(len(rows))[:, None]), paper_parameters(rows, burst, 1.0) | {"loss": 0.0})


def _correlated(rows: NDArray[Any], bad: bool) -> World:
    always = np.full(len(rows), ALWAYS if bad else 0)
    parameters = correlated_parameters(rows, TAU_MS, 1.0) | {
        "loss": 0.0, "bad_from": -always, "bad_to": always, "bad_level_ms": rows["bad_level_ms"],
        "shift_every_s": np.inf,
    }  # fmt: skip
    return _started(CorrelatedWorld(1, np.arange(len(rows))[:, None]), parameters)


def _row(name: str, law: str, statistic: str, measured: NDArray[np.float64], drawn: NDArray[np.float64]) -> FitRow:
    error = np.abs(drawn - measured)
    middle = [float(np.median(values)) for values in (measured, drawn, error)]
    return FitRow(name, law, statistic, len(measured), middle[0], middle[1], middle[2], float(np.quantile(error, 0.9)))


def _burst_rows(name: str, law: str, measured: NDArray[np.float64], pings: NDArray[np.float64]) -> list[FitRow]:
    """Compare the medians of min, average, maximum and deviation over the sampled bursts with the measured medians."""
    drawn = (pings.min(axis=2), pings.mean(axis=2), pings.max(axis=2), pings.std(axis=2))
    names = ("min", "avg", f"max of {pings.shape[2]}", "mdev")
    return [_row(name, law, names[i], measured[:, i], np.median(drawn[i], axis=1)) for i in range(4)]


def _worst_rows(name: str, known: _Known, measured: NDArray[np.bool_]) -> list[FitRow]:
    """Compare the bad hour derived from the two days with samples of mode paper."""
    pings = _pings(_paper(known.rows[measured], "worst"), 1).reshape(int(measured.sum()), -1)
    days, avg = known.days[measured], known.bursts[measured, 1]
    hour = np.array([bad_hour(a, mean, sd) for a, (_, mean, _, sd) in zip(avg, days, strict=True)])
    wanted = {"min": days[:, 0], "mean": hour[:, 0], "max": days[:, 2], "sd": hour[:, 1]}
    drawn = {"min": pings.min(axis=1), "mean": pings.mean(axis=1), "max": pings.max(axis=1), "sd": pings.std(axis=1)}
    return [_row(name, "paper, worst burst", key, wanted[key], drawn[key]) for key in wanted]


def _day_rows(name: str, known: _Known, measured: NDArray[np.bool_]) -> list[FitRow]:
    """Compare mean and deviation of all pings of two days, ordinary and bad hours in the fitted shares."""
    rows, days = known.rows[measured], known.days[measured]
    share = rows["bad_share"]
    mean, square = np.zeros(len(rows)), np.zeros(len(rows))
    for weight, bad in ((1.0 - share, False), (share, True)):
        pings = _pings(_correlated(rows, bad), PING_SLOTS).reshape(len(rows), -1)
        mean += weight * pings.mean(axis=1)
        square += weight * (pings**2).mean(axis=1)
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    law = "correlated, two days"
    return [_row(name, law, "mean", days[:, 1], mean), _row(name, law, "sd", days[:, 3], sd)]


def _of_bursts(row: Any) -> tuple[float, ...]:
    return row.min_ms, row.avg_ms, row.max_ms, row.mdev_ms


def _of_days(days: dict[tuple[str, str], Pooled], link: tuple[str, str]) -> tuple[float, ...]:
    found = days.get(link)
    return (found.min_ms, found.mean_ms, found.max_ms, found.std_ms) if found else (np.nan,) * 4


def _ten_places(root: Path) -> _Known:
    bursts = {(row.src, row.dst): row for row in read_rows(root, "ten_places_burst_medians.csv", Burst)}
    days = {(row.src, row.dst): row for row in read_rows(root, "ten_places_two_day_pooled.csv", Pooled)}
    links = {(link.source, link.destination): row_of(link) for link in load_links("wonderproxy_ten_places").links}
    return _Known(
        np.array(list(links.values()), LINK),
        np.array([_of_bursts(bursts[link]) for link in links]),
        np.array([_of_days(days, link) for link in links]),
    )


def _world(root: Path) -> _Known:
    sample, name = load_sample(), city_names(root)
    pairs = [tuple(pair.split("-")) for pair in sample.pairs[:: max(1, len(sample.pairs) // WORLD_LINKS)]]
    bursts = {(name[row.src], name[row.dst]): row for row in read_rows(root, FILES[1], Burst)}
    days = {(name[row.src], name[row.dst]): row for row in read_rows(root, FILES[2], Pooled)}
    return _Known(
        sample.links[[sample.row[a, b] for a, b in pairs]],
        np.array([_of_bursts(bursts[a, b]) for a, b in pairs]),
        np.array([_of_days(days, (a, b)) for a, b in pairs]),
    )


def _cloud(root: Path) -> _Known:
    runs = read_runs(root)
    links = {(link.source, link.destination): row_of(link) for link in load_links("cloud").links}
    apart = [(a, b) for a, b in links if REGIONS[a][2] != REGIONS[b][2]]
    return _Known(
        np.array([links[link] for link in apart], LINK),
        np.array([find_run(runs, *link) for link in apart]),
        np.full((len(apart), 4), np.nan),
        RUN_PINGS,
    )
