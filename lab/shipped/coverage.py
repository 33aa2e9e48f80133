"""Simulate how often 95 % intervals contain the truth; ``python -m lab.shipped.coverage [suites]`` writes data/coverage.json.

A simulated suite of two systems has `KINDS` kinds of worlds whose levels differ as in the real suites, with noise over two decades. The
value of a world is the level of its kind minus a gamma variable (quality has a long lower tail), which both systems partly share because
they play the same worlds. The truth is the same statistic over `TRUTH_SEEDS` worlds of each kind. The simulation also measures how often a
board of `EQUALS` equal systems claims that any system is better; the correction of `ranking` controls this at 5 %.
"""

import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.leaderboard.statistics.aggregates import interquartile_mean, mean
from vcgym.leaderboard.statistics.coverage import Coverage
from vcgym.leaderboard.statistics.paired import MetricSample
from vcgym.leaderboard.statistics.ranking import separated
from vcgym.leaderboard.statistics.resampling import Spread, resample
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

SUITES = 1500
KINDS = 12
EQUALS = 10
TRUTH_SEEDS = 200_000
RESAMPLES = 1000
SEEDS = (2, 3, 4, 5, 7, 10)
_LEVELS = 92.0 - 30.0 * np.linspace(0.0, 1.0, KINDS) ** 2
_SPREADS = np.geomspace(0.3, 4.0, KINDS)[np.argsort(np.arange(KINDS) * 7 % KINDS)]
_SHAPE = 4.0  # shape of the gamma distribution: skewness 1


def main() -> None:
    """Simulate the coverage, print it and write the file."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else SUITES
    rows = []
    for seeds in SEEDS:
        rows.append(simulate(seeds, suites)._asdict())
        print(rows[-1], flush=True)
    body = {"rows": rows}
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
        equals = MetricSample(_suite(draws, EQUALS, seeds), sizes)
        claimed = bool(separated(equals, 1, suite, RESAMPLES // 4).beats.any())
        counts += [_within(middle, of_iqm, plain=True), _within(middle, of_iqm), _within(average, of_mean), _within(apart, 0.0), claimed]
    return Coverage(seeds, suites, *(counts / suites).round(4).tolist())


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
