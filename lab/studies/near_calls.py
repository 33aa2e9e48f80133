"""Compare ways to count calls that are near each other in measured time: ``python -m lab.studies.near_calls [suites]`` prints the table.

A suite has calls of `CALL` steps at random offsets of two traces, or of `SERIES` pairs of traces. What is measured is an Ornstein-Uhlenbeck
process of mean 0, or a path that is bad for a fifth of the time; the value of a call is its mean over the call. Each way gives a number of
independent calls, and with it the interval of the mean by Student's distribution. A cell has the share of the intervals that contain 0, and
their mean half width in standard deviations of the process.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lab.shipped.coverage import CALL_S, HISTORY_S, OVERLAPPING, STEP_S, remembered
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.statistics.resampling import quantile_of_parts

Floats = NDArray[np.float64]
Process = Callable[[np.random.Generator, int, int, float], Floats]

SUITES = 400
CALL, HISTORY = round(CALL_S / STEP_S), round(HISTORY_S / STEP_S)
TRACES_S = (120.0, 240.0, 900.0)
MEMORY_CALLS = (1 / 3, 1.0, 2.0, 3.0)
SERIES, SERIES_CALLS = 5, 12
_BAD = 0.2
_NEAR = 0.4  # correlation of calls that touch, in one of the ways


def main() -> None:
    """Simulate and print the tables."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else SUITES
    for name, process in PROCESSES.items():
        rows = [
            [f"{trace_s:g} s", f"{memory:.2g}", *(_cell(*one) for one in simulate(process, trace_s, memory, suites).values())]
            for trace_s in TRACES_S
            for memory in MEMORY_CALLS
        ]
        print(f"{name}\n\n{markdown_table(['trace', 'memory, calls', *WAYS], rows)}", flush=True)
    rows = [
        [f"{trace_s:g} s", f"{memory:.2g}", *(_cell(*one) for one in simulate_series(trace_s, memory, suites).values())]
        for trace_s in TRACES_S[::2]
        for memory in MEMORY_CALLS
    ]
    print(f"{SERIES} pairs of traces\n\n{markdown_table(['trace', 'memory, calls', 'blocks of 2 calls', 'whole series'], rows)}")


def simulate(process: Process, trace_s: float, memory: float, suites: int) -> dict[str, tuple[float, float]]:
    """Return coverage and half width of each way, for calls cut from two traces of `trace_s`; `memory` is in calls."""
    draws = np.random.default_rng([round(trace_s), round(10 * memory)])
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(suites):
        values, begins = _cut(draws, process, trace_s, memory, OVERLAPPING)
        for name, count in WAYS.items():
            found[name].append(_interval(values, math.floor(count(values, begins))))
    return {name: _covered(intervals) for name, intervals in found.items()}


def simulate_series(trace_s: float, memory: float, suites: int) -> dict[str, tuple[float, float]]:
    """Return coverage and half width of blocks of two calls, and of the means of whole series, for `SERIES` pairs of traces."""
    draws = np.random.default_rng([SERIES, round(trace_s), round(10 * memory)])
    blocks, whole = [], []
    for _ in range(suites):
        cut = [_cut(draws, remembered, trace_s, memory, SERIES_CALLS) for _ in range(SERIES)]
        shared = np.sum([[_share(one, 2.0).sum() for one in begins] for _, begins in cut], axis=0).max()
        values = np.concatenate([values for values, _ in cut])
        blocks.append(_interval(values, math.floor(len(values) ** 2 / shared)))
        whole.append(_interval(np.array([values.mean() for values, _ in cut]), SERIES))
    return {"blocks of 2 calls": _covered(blocks), "whole series": _covered(whole)}


def _cut(draws: np.random.Generator, process: Process, trace_s: float, memory: float, calls: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values of calls (n,) and where they begin in each of two traces (2, n)."""
    steps = round(trace_s / STEP_S)
    begins = draws.integers(HISTORY, steps - CALL + 1, size=(2, calls))
    so_far = np.concatenate([np.zeros((2, 1)), np.cumsum(process(draws, 2, steps, memory * CALL), axis=1)], axis=1)
    of_calls = np.take_along_axis(so_far, begins + CALL, axis=1) - np.take_along_axis(so_far, begins, axis=1)
    return of_calls.sum(axis=0) / CALL, begins


def _sometimes_bad(draws: np.random.Generator, rows: int, steps: int, memory: float) -> Floats:
    """Return processes (rows, steps) of mean 0 and variance 1 with two states, drawn anew every `memory` steps on average."""
    kept = draws.random((rows, steps)) < math.exp(-1.0 / memory)
    since = np.maximum.accumulate(np.where(kept & (np.arange(steps) > 0), 0, np.arange(steps)), axis=1)
    bad = np.take_along_axis(draws.random((rows, steps)) < _BAD, since, axis=1)
    return np.asarray((bad - _BAD) / math.sqrt(_BAD * (1.0 - _BAD)), np.float64)


def _share(begins: NDArray[np.int64], width: float) -> Floats:
    """Return Bartlett weights (n, n) of calls, in blocks of `width` calls."""
    return np.maximum(1.0 - np.abs(begins[:, None] - begins) / (width * CALL), 0.0)


def _blocks(width: float) -> Callable[[Floats, NDArray[np.int64]], float]:
    return lambda values, begins: len(values) ** 2 / max(_share(one, width).sum() for one in begins)


def _touching(values: Floats, begins: NDArray[np.int64]) -> float:
    return len(values) ** 2 / max(np.maximum(_share(one, 1.0), _NEAR * _share(one, 3.0)).sum() for one in begins)


def _apart(values: Floats, begins: NDArray[np.int64]) -> float:
    """Return how many calls can be chosen that begin two calls apart."""
    fewest = len(values)
    for ordered in np.sort(begins, axis=1):
        last, count = -2 * CALL, 0
        for begin in ordered.tolist():
            if begin >= last + 2 * CALL:
                last, count = begin, count + 1
        fewest = min(fewest, count)
    return fewest


def _estimated(values: Floats, begins: NDArray[np.int64]) -> float:
    """Return the count of blocks of a call, divided as for an autoregressive series with the correlation of neighbouring calls."""
    count = _blocks(1.0)(values, begins)
    from_mean = values - values.mean()
    apart = np.abs(begins[:, :, None] - begins[:, None])
    near = (apart >= CALL) & (apart < 2 * CALL)
    products = np.broadcast_to(np.outer(from_mean, from_mean), near.shape)[near]
    if not (products.size and from_mean.any()):
        return count
    correlation = min(max(products.mean() / from_mean.var() + 1.0 / count, 0.0), 0.9)  # a sample's is too low by about 1 / n
    return count * (1.0 - correlation) / (1.0 + correlation)


def _interval(values: Floats, count: int) -> tuple[float, float]:
    """Return the mean and half of its interval; NaN below two calls."""
    if count < 2:
        return float(values.mean()), math.nan
    quantile = float(quantile_of_parts(np.ones(1), np.array([count])))
    return float(values.mean()), quantile * float(values.std()) / math.sqrt(count - 1)


def _covered(intervals: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the share of the known intervals that contain 0, and their mean half width."""
    known = np.array([one for one in intervals if not math.isnan(one[1])])
    return float(np.mean(np.abs(known[:, 0]) <= known[:, 1])), float(known[:, 1].mean())


def _cell(share: float, half: float) -> str:
    return f"{100.0 * share:.0f} %, {half:.2f}"


PROCESSES: dict[str, Process] = {"Ornstein-Uhlenbeck": remembered, "bad for a fifth of the time": _sometimes_bad}
WAYS = {
    "blocks of 1 call": _blocks(1.0),
    "blocks of 2 calls": _blocks(2.0),
    "blocks of 3 calls": _blocks(3.0),
    "calls that touch": _touching,
    "begins 2 calls apart": _apart,
    "correlation estimated": _estimated,
}

if __name__ == "__main__":
    main()
