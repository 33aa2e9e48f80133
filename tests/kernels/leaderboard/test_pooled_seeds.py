"""Rows of methods: the mean over the seeds of every number, with intervals over worlds and seeds, as a slow twin finds from raw rows."""

import math
import zlib

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from vcgym.leaderboard.statistics import differences, interquartile_means, pair_worlds, rank
from vcgym.leaderboard.statistics.seeds import entries, methods
from vcgym.leaderboard.statistics.summaries import profile_curves, worlds_won

KINDS = ["x"] * 8 + ["y"] * 12
WORLDS = np.random.default_rng(5).normal(80.0, 6.0, len(KINDS))
SEEDS = 3


def noisy(seed, spread=1.0):
    return WORLDS + np.random.default_rng(seed).normal(0.0, spread, len(KINDS))


def table(values):
    rows = [
        {"system": name, "mode": "m", "scenario": "s", "stratum": kind, "split": "test", "pair": "p", "seed": seed, "r": float(r[seed])}
        for name, r in values.items()
        for seed, kind in enumerate(KINDS)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def values():
    return {"rule": noisy(1), **{f"mine seed {s}": noisy(10 + s) + (0.3, 1.6, 0.9)[s] for s in range(SEEDS)}, "alone seed 4": noisy(3)}


def middle_half(values):
    cut = len(values) // 4
    return float(np.mean(sorted(values)[cut : len(values) - cut]))


def twin(runs, reference, name):
    """The mean over runs of the interquartile mean less that of the reference, and its interval, one resample and one run at a time."""
    centres = [middle_half(run) - middle_half(reference) for run in runs]
    draws, moves = np.random.default_rng(0), np.random.default_rng(zlib.crc32(name.encode())).standard_normal(2000)
    drawn = np.concatenate([draws.integers(8, size=(2000, 8)), 8 + draws.integers(12, size=(2000, 12))], axis=1)
    factor = math.sqrt(20 / (20 - 2))
    over_worlds, resampled = [], []
    for worlds, move in zip(drawn, moves, strict=True):
        found = [middle_half(run[worlds]) - middle_half(reference[worlds]) for run in runs]
        over_worlds.append(np.mean(found))
        resampled.append(np.mean(found) + move * np.std(found, ddof=1) / math.sqrt(len(runs)) / factor)
    of_worlds, of_seeds = (factor * np.std(over_worlds, ddof=1)) ** 2, np.var(centres, ddof=1) / len(runs)
    noise = np.mean(runs, axis=0) - reference
    shares = np.array([8 * np.var(noise[:8], ddof=1), 12 * np.var(noise[8:], ddof=1)])
    parts = [*(of_worlds * shares / shares.sum()), of_seeds]
    freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, (8, 12, len(runs)), strict=True))
    wider = factor * stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975)
    centre = np.mean(centres)
    return centre, *(centre + wider * (end - centre) for end in np.quantile(resampled, [0.025, 0.975]))


def test_a_pooled_row_equals_its_twin_from_the_raw_rows(values):
    runs = [values[f"mine seed {s}"] for s in range(SEEDS)]
    paired = pair_worlds(table(values))
    assert differences(paired, "r", "rule")["mine"] == pytest.approx(twin(runs, values["rule"], "mine"), rel=1e-9)
    assert interquartile_means(paired, "r")["mine"] == pytest.approx(twin(runs, np.zeros(len(KINDS)), "mine"), rel=1e-9)


def test_every_number_of_a_method_is_the_mean_of_its_trainings(values):
    paired = pair_worlds(table(values))
    runs = [f"mine seed {s}" for s in range(SEEDS)]
    levels, won = interquartile_means(paired, "r"), worlds_won(paired, "r", "rule", 1)
    assert levels["mine"].value == pytest.approx(np.mean([levels[run].value for run in runs]))
    assert won["mine"].value == pytest.approx(np.mean([won[run].value for run in runs]))
    curve = np.mean([[(values[run] > level).mean() for level in (75.0, 80.0)] for run in runs], axis=0)
    assert profile_curves(paired, "r", np.array([75.0, 80.0]))["mine"] == pytest.approx(curve)


def test_methods_take_the_place_of_their_trainings_in_the_ranks(values):
    paired = pair_worlds(table(values))
    assert methods(paired.systems) == {"mine": ("mine seed 0", "mine seed 1", "mine seed 2")}  # one training alone is no method
    assert entries(paired.systems).names == ("alone seed 4", "mine", "rule")
    assert {standing.system for standing in rank(paired, "r")} == {"alone seed 4", "mine", "rule"}
    assert methods(["m seed 10", "m seed 2"]) == {"m": ("m seed 2", "m seed 10")}


def test_seeds_that_differ_widen_the_interval_and_prevent_no_claim_between_others(values):
    others = {"rule": WORLDS, "worse": noisy(2, 0.2) - 2.0}
    for apart, told in ((0.0, True), (6.0, False)):
        four = {f"mine seed {s}": noisy(20 + s, 0.2) + 2.0 + apart * (s % 2 - 0.5) for s in range(4)}
        paired = pair_worlds(table(others | four))
        difference, standings = differences(paired, "r", "rule")["mine"], {one.system: one for one in rank(paired, "r")}
        assert (difference.low > 0.0) == told
        assert (standings["mine"].rank_high == 1) == told
        assert standings["worse"].rank_high > standings["rule"].rank_low  # the rules are told apart in both
        assert standings["rule"].rank_low < standings["worse"].rank_low


def test_a_board_without_methods_is_as_before(values):
    alone = {name: one for name, one in values.items() if not name.startswith("mine")}
    few, many = pair_worlds(table(alone)), pair_worlds(table(values))
    assert interquartile_means(few, "r") == {name: interquartile_means(many, "r")[name] for name in alone}
    assert differences(few, "r", "rule")["alone seed 4"] == differences(many, "r", "rule")["alone seed 4"]
