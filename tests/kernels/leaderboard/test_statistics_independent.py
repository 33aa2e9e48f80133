"""The numbers of a stored score matrix against an independent library's; the file's card describes their computation."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vcgym.leaderboard.statistics.aggregates import (
    INTERQUARTILE,
    median,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    trimmed_mean,
)  # fmt: skip
from vcgym.leaderboard.statistics.resampling import resample

HELD = json.loads((Path(__file__).parent / "rliable_scores.json").read_text())
SCORES = {name: np.array(rows).T for name, rows in HELD["scores"].items()}  # (tasks, runs)
FOUND = HELD["found"]
TASKS, RUNS = SCORES["first"].shape
SIZES, STARTS = np.full(TASKS, RUNS), np.arange(TASKS) * RUNS
AGGREGATES = {
    "mean": partial(trimmed_mean, trim=0.0),
    "iqm": partial(trimmed_mean, trim=INTERQUARTILE),
    "median": lambda values: median(values, STARTS),
    "optimality_gap": lambda values: optimality_gap(values, HELD["target"]),
}


def within(ours, theirs):
    """Interval ends agree within 5 % of the width."""
    width = np.subtract(theirs[1], theirs[0])
    return np.abs(np.subtract(ours, theirs)) <= 0.05 * width


@pytest.mark.parametrize("system", SCORES)
@pytest.mark.parametrize("name", AGGREGATES)
def test_point_estimates_and_plain_intervals(name, system):
    value, *ends = FOUND[name][system]
    spread = resample(SCORES[system].reshape(1, -1), SIZES, AGGREGATES[name], rng_seed=3, resamples=20_000)
    assert spread.centre[0] == pytest.approx(value, abs=1e-9)
    low, high = spread.interval(plain=True)
    assert within((low[0], high[0]), ends).all()


@pytest.mark.parametrize("system", SCORES)
def test_performance_profiles(system):
    share, *ends = map(np.array, FOUND["profile"][system])
    thresholds = np.array(HELD["thresholds"])
    found = resample(SCORES[system].reshape(1, -1), SIZES, lambda values: performance_profile(values, thresholds)[:, 0], 3, 20_000)
    assert found.centre == pytest.approx(share, abs=1e-9)
    step = 1.0 / SCORES[system].size  # a share of 60 runs moves in steps
    assert (np.abs(np.subtract(found.interval(plain=True), ends)) <= np.maximum(0.05 * (ends[1] - ends[0]), step + 1e-12)).all()


@pytest.mark.parametrize("pair", FOUND["probability_of_improvement"])
def test_probability_of_improvement(pair):
    value, *ends = FOUND["probability_of_improvement"][pair]
    one, other = (SCORES[name] for name in pair.split(" over "))
    assert probability_of_improvement(one, other) == pytest.approx(value, abs=1e-9)
    draws = np.random.default_rng(0)
    drawn = [np.take_along_axis(scores[None], draws.integers(RUNS, size=(5000, TASKS, RUNS)), axis=-1) for scores in (one, other)]
    assert within(np.quantile(probability_of_improvement(*drawn), (0.025, 0.975)), ends).all()
