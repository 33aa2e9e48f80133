"""Coverage of the 95 % intervals of `resampling` on simulated suites of two systems with known truth.

A simulated suite has `KINDS` kinds of worlds whose levels differ as in the real suites, with noise over two decades. The value of a world
is the level of its kind minus a gamma variable (quality has a long lower tail), which both systems partly share because they play the same
worlds. The truth is the same statistic over `TRUTH_SEEDS` worlds of each kind. The simulation also measures how often a board of `EQUALS`
equal systems claims that any system is better; the correction of `ranking` controls this at 5 %.

`data/coverage.json` has the table for 1,500 suites, made by ``python -m lab.shipped.coverage``; `expected` looks it up.
"""

import functools
import importlib.resources
import json
from typing import Any, NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.aggregates import interquartile_mean, mean
from vcgym.leaderboard.statistics.paired import Sample
from vcgym.leaderboard.statistics.ranking import separated
from vcgym.leaderboard.statistics.resampling import Spread, resample

KINDS = 12
EQUALS = 10
TRUTH_SEEDS = 200_000
RESAMPLES = 1000
SEEDS = (2, 3, 4, 5, 7, 10)
_LEVELS = 92.0 - 30.0 * np.linspace(0.0, 1.0, KINDS) ** 2
_SPREADS = np.geomspace(0.3, 4.0, KINDS)[np.argsort(np.arange(KINDS) * 7 % KINDS)]
_SHAPE = 4.0  # shape of the gamma distribution: skewness 1


class Coverage(NamedTuple):
    """Shares of simulated suites.

    Attributes:
        seeds: worlds of each kind.
        suites: number of simulated suites.
        plain: share in which the interval of the interquartile mean without the factors contains the truth.
        iqm: the same with the factors.
        mean: the same for the interval of the mean, with the factors.
        difference: the same for the difference of two systems' interquartile means, with the factors.
        false_claims: share in which a board of equal systems claims that one is better.
    """

    seeds: int
    suites: int
    plain: float
    iqm: float
    mean: float
    difference: float
    false_claims: float


def simulate(seeds: int, suites: int, rng_seed: int = 0) -> Coverage:
    """Simulate the coverage with `seeds` worlds of each kind."""
    draws = np.random.default_rng([rng_seed, seeds])
    of_iqm, of_mean = (_truth(statistic) for statistic in (interquartile_mean, mean))
    sizes, counts = np.full(KINDS, seeds), np.zeros(5)
    for suite in range(suites):
        values = _suite(draws, 2, seeds)
        middle, average = (resample(values, sizes, statistic, suite, RESAMPLES) for statistic in (interquartile_mean, mean))
        apart = resample(values, sizes, _apart, suite, RESAMPLES, noise=values[:1] - values[1:])
        equals = Sample(_suite(draws, EQUALS, seeds), sizes)
        claimed = bool(separated(equals, 1, suite, RESAMPLES // 4).beats.any())
        counts += [_within(middle, of_iqm, plain=True), _within(middle, of_iqm), _within(average, of_mean), _within(apart, 0.0), claimed]
    return Coverage(seeds, suites, *(counts / suites).round(4).tolist())


def expected(fewest: int) -> Coverage:
    """Return the measured row with the largest number of seeds up to `fewest`, or the first row."""
    rows = table()
    return next((row for row in reversed(rows) if row.seeds <= fewest), rows[0])


@functools.cache
def table() -> tuple[Coverage, ...]:
    """Return the rows of `data/coverage.json`, by number of seeds."""
    counts: dict[str, Any] = json.loads(importlib.resources.files("vcgym.data").joinpath("coverage.json").read_text(encoding="utf-8"))
    return tuple(Coverage(**row) for row in counts["rows"])


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
