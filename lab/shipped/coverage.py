"""Simulate how often 95 % intervals contain the truth; ``python -m lab.shipped.coverage [suites]`` writes data/coverage.json.

A simulated suite of two systems has `KINDS` kinds of worlds whose levels differ as in the real suites, with noise over two decades. The
value of a world is the level of its kind minus a gamma variable (quality has a long lower tail), which both systems partly share because
they play the same worlds. The truth is the same statistic over `TRUTH_SEEDS` worlds of each kind. The simulation also measures how often a
board of `EQUALS` equal systems claims that any system is better; the correction of `ranking` controls this at 5 %.

Calls over measured time: `OVERLAPPING` calls are cut at random offsets from each of two simulated traces, as `suite=replay` does. What is
measured of a path and of a system is an Ornstein-Uhlenbeck process; the value of a call is its mean over the call.
"""

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE, trimmed_mean
from vcgym.leaderboard.statistics.coverage import Coverage, CoverageOver
from vcgym.leaderboard.statistics.paired import MetricSample, independent_calls
from vcgym.leaderboard.statistics.ranking import MIN_CALLS, separated
from vcgym.leaderboard.statistics.resampling import Spread, resample
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

SUITES = 1500
SUITES_OVER = 400
KINDS = 12
EQUALS = 10
TRUTH_SEEDS = 200_000
RESAMPLES = 1000
SEEDS = (2, 3, 4, 5, 7, 10)
OVERLAPPING = 24
TRACES_S = (72.0, 120.0, 180.0, 240.0, 900.0)
CALL_S, HISTORY_S, STEP_S = 10.0, 10.24, 0.1
_LEVELS = 92.0 - 30.0 * np.linspace(0.0, 1.0, KINDS) ** 2
_SPREADS = np.geomspace(0.3, 4.0, KINDS)[np.argsort(np.arange(KINDS) * 7 % KINDS)]
_SHAPE = 4.0  # shape of the gamma distribution: skewness 1

mean, interquartile_mean = (functools.partial(trimmed_mean, trim=trim) for trim in (0.0, INTERQUARTILE))


def main() -> None:
    """Simulate the coverage, print it and write the file."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else SUITES
    rows = []
    for seeds in SEEDS:
        rows.append(simulate(seeds, suites)._asdict())
        print(rows[-1], flush=True)
    measured = []
    for trace_s in TRACES_S:
        measured.append(simulate_over(trace_s, min(suites, SUITES_OVER))._asdict())
        print(measured[-1], flush=True)
    body = {"rows": rows, "measured": measured}
    card = {
        "name": "coverage",
        "description": f"How often 95 % intervals of the leaderboard contain the truth, by worlds of each of {KINDS} kinds, and how often "
        f"a board of {EQUALS} equal systems calls any better",
        "source": "simulation, made by python -m lab.shipped.coverage",
        "licence": "MIT",
        "sha256": canonical_sha256(body),
        "kind": "synthesised",
        "units": "shares of simulated suites, 0 to 1",
    }
    path = Path(__file__).resolve().parents[2] / "data" / "coverage.json"
    replace_file(path, (json.dumps({"card": card, **body}, indent=1) + "\n").encode())


def simulate(seeds: int, suites: int, rng_seed: int = 0) -> Coverage:
    """Simulate the coverage with `seeds` worlds of each kind."""
    draws = np.random.default_rng([rng_seed, seeds])
    of_iqm, of_mean = (_truth(statistic) for statistic in (interquartile_mean, mean))
    sizes, counts = np.full(KINDS, seeds), np.zeros(5)
    for suite in range(suites):
        values = _suite(draws, 2, seeds)
        middle, average = (resample(values, sizes, statistic, suite, RESAMPLES) for statistic in (interquartile_mean, mean))
        apart = resample(values, sizes, _apart, suite, RESAMPLES, noise=values[:1] - values[1:])
        equals = MetricSample(_suite(draws, EQUALS, seeds), sizes, sizes, np.zeros(KINDS, bool))
        claimed = bool(separated(equals, 1, suite, RESAMPLES // 4).beats.any())
        counts += [_within(middle, of_iqm, plain=True), _within(middle, of_iqm), _within(average, of_mean), _within(apart, 0.0), claimed]
    return Coverage(seeds, suites, *(counts / suites).round(4).tolist())


def simulate_over(trace_s: float, suites: int, rng_seed: int = 0) -> CoverageOver:
    """Simulate the coverage of calls of `CALL_S` that are cut from two traces of `trace_s`."""
    draws = np.random.default_rng([rng_seed, round(trace_s)])
    counts, apart = np.zeros(5), 0
    for suite in range(suites):
        found = _cut(draws, trace_s, EQUALS, CALL_S / 3.0)
        sizes, calls = found.sizes, found.calls
        apart += int(calls[0])
        naive = resample(found.values[:1], sizes, mean, suite, RESAMPLES)
        honest = resample(found.values[:1], sizes, mean, suite, RESAMPLES, calls=calls)
        noise = found.values[:1] - found.values[1:2]
        two = resample(found.values[:2], sizes, _apart, suite, RESAMPLES, noise=noise, calls=calls)
        claimed = bool(calls[0] >= MIN_CALLS and separated(found, 1, suite, RESAMPLES // 4).beats.any())
        slow = _cut(draws, trace_s, 1, CALL_S)
        slowly = resample(slow.values, slow.sizes, mean, suite, RESAMPLES, calls=slow.calls)
        counts += [*(_within(one, 0.0) for one in (naive, honest, slowly, two)), claimed]
    return CoverageOver(round(apart / suites), suites, *(counts / suites).round(4).tolist())


def _cut(draws: np.random.Generator, trace_s: float, systems: int, memory_s: float) -> MetricSample:
    """Return the values of equal systems in calls cut from two traces, half of which they share."""
    steps, before, length = (round(one / STEP_S) for one in (trace_s, HISTORY_S, CALL_S))
    traces = [remembered(draws, 1 + systems, steps, memory_s / STEP_S) for _ in range(2)]
    begins = draws.integers(before, steps - length + 1, size=(2, OVERLAPPING))
    values = np.zeros((systems, OVERLAPPING))
    for trace, of_trace in zip(traces, begins, strict=True):
        so_far = np.concatenate([np.zeros((len(trace), 1)), np.cumsum(trace, axis=1)], axis=1)
        of_call = so_far[:, of_trace + length] - so_far[:, of_trace]
        values += of_call[:1] + of_call[1:]
    stretches = tuple(
        tuple((str(path), int(one[call]), int(one[call]) + length) for path, one in enumerate(begins)) for call in range(OVERLAPPING)
    )
    calls = np.array([math.floor(independent_calls(stretches))])
    return MetricSample(values, np.array([OVERLAPPING]), calls, np.ones(1, bool))


def remembered(draws: np.random.Generator, rows: int, steps: int, memory: float) -> np.ndarray:
    """Return Ornstein-Uhlenbeck processes (rows, steps) of variance 1, whose correlation falls by e in `memory` steps."""
    kept = math.exp(-1.0 / memory)
    moves = draws.standard_normal((rows, steps))
    moves[:, 1:] *= math.sqrt(1.0 - kept**2)
    for step in range(1, steps):
        moves[:, step] += kept * moves[:, step - 1]
    return moves


def _suite(draws: np.random.Generator, systems: int, seeds: int) -> np.ndarray:
    """Return values (systems, KINDS * seeds) of systems with equal distributions."""
    shared = draws.gamma(0.5 * _SHAPE, size=(1, KINDS, seeds))
    own = draws.gamma(0.5 * _SHAPE, size=(systems, KINDS, seeds))
    return (_LEVELS[:, None] - _SPREADS[:, None] * (shared + own) / np.sqrt(_SHAPE)).reshape(systems, -1)


def _apart(values: np.ndarray) -> np.ndarray:
    first, second = interquartile_mean(values)
    return (first - second)[None]


@functools.cache
def _truth(statistic: Any) -> float:
    return float(statistic(_suite(np.random.default_rng(1), 1, TRUTH_SEEDS))[0])


def _within(spread: Spread, truth: float, plain: bool = False) -> bool:
    low, high = spread.interval(plain)
    return bool(low[0] <= truth <= high[0])


if __name__ == "__main__":
    main()
