"""Comparison of the time structure of measured and sampled delays.

For a series of one delay per 10-ms slot: the autocorrelation after subtracting the mean of each 10-s window, which removes slow shifts of
level; the share of slots whose packet is overtaken by the next; the lengths of runs above the series' 95th percentile.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import TAU_MS
from vcgym.network.traces.trace import to_slots
from vcgym.network.traces.trace_file import read_trace
from vcgym.network.worlds.world import blocks

LAGS_MS = (10, 20, 50, 100, 200, 500, 1000)
SERIES = (*leo.SERIES, "starlink_isl")
WINDOW_SLOTS = 1000
SPIKE_QUANTILE = 0.95
_SEED = 1


class StructureRow(NamedTuple):
    """Time structure of one series, or the mean over several of one kind."""

    series: str
    autocorrelation: tuple[float, ...]  # at LAGS_MS
    overtaken: float  # share of slots, or of measured probes
    spike_mean_ms: float
    spike_p90_ms: float


def time_structure(delay_us: NDArray[np.int64], overtaken: float | None = None, name: str = "") -> StructureRow:
    """Return the structure of a series of one delay per slot (LOST repeats the last one); pass `overtaken` if known more exactly."""
    got = np.flatnonzero(delay_us != LOST)
    arrivals_us = got * SLOT_US + delay_us[got].astype(np.int64)
    ms = _filled(delay_us) / 1000.0
    windows = ms[: len(ms) // WINDOW_SLOTS * WINDOW_SLOTS].reshape(-1, WINDOW_SLOTS)
    centred = windows - windows.mean(axis=1, keepdims=True)
    variance = (centred**2).mean()
    lags = [lag * 1000 // SLOT_US for lag in LAGS_MS]
    correlation = tuple(float((centred[:, lag:] * centred[:, :-lag]).mean() / variance) for lag in lags)
    if overtaken is None:
        overtaken = float((np.diff(arrivals_us) < 0).mean())
    edges = np.flatnonzero(np.diff(np.r_[False, ms > np.quantile(ms, SPIKE_QUANTILE), False]))
    lengths = (edges[1::2] - edges[::2]) * SLOT_US / 1000.0
    return StructureRow(name, correlation, overtaken, float(lengths.mean()), float(np.quantile(lengths, 0.9)))


def measured_structure(root: Path) -> list[StructureRow]:
    """Return the rows of the 10-ms series under `root`.

    Raises:
        DataError: a series is missing or broken.
    """
    rows = []
    for trace in map(read_trace, leo.files(root, SERIES)):
        got = trace.one_way_delay_us != LOST
        arrivals = (trace.sent_us + trace.one_way_delay_us)[got]
        overtaken = float((np.diff(arrivals) < 0).mean())
        rows.append(time_structure(to_slots(trace, rtt_share=1.0), overtaken, trace.name))
    return rows


def drawn_structure(mode: str, stratum: str | None, tau_ms: float = TAU_MS, slots: int = 60_000) -> StructureRow:
    """Return the mean structure of the direct paths of scenario wonderproxy, training pairs."""
    scenario = Scenario("wonderproxy", mode, slots, tau_ms=tau_ms)
    rows = []
    for pair in scenario.pairs("train"):
        world = scenario.world(1)
        world.start(0, scenario.draw("train", _SEED, pair, stratum))
        rows.append(time_structure(np.concatenate([block[0] for block in blocks(world, slots)])))
    label = f"{mode}, {stratum}, tau {tau_ms:g} ms" if mode == "correlated" else mode
    correlation = tuple(np.mean([row.autocorrelation for row in rows], axis=0).tolist())
    overtaken, mean_ms, p90_ms = np.mean([row[2:] for row in rows], axis=0).tolist()
    return StructureRow(label, correlation, overtaken, mean_ms, p90_ms)


def _filled(delay_us: NDArray[np.int64]) -> NDArray[np.int64]:
    last_known = np.maximum.accumulate(np.where(delay_us != LOST, np.arange(len(delay_us)), -1))
    return delay_us[last_known[np.argmax(last_known >= 0) :]]
