"""Intervals and ranks: paired, stratified, reproducible, and refusing what is not comparable."""

import random

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from vcgym.leaderboard.statistics import pair_worlds, rank, summarise, worlds_compared


def table(values, strata, metric="r", mode="correlated"):
    """Results of systems (name -> one value per world) in worlds of the given strata."""
    rows = [
        {"system": system, "mode": mode, "scenario": "s", "stratum": stratum, "split": "test", "pair": f"p{w}", "seed": w, metric: value}
        for system, series in values.items()
        for w, (stratum, value) in enumerate(zip(strata, series, strict=True))
    ]
    random.Random(1).shuffle(rows)
    return pa.Table.from_pylist(rows)


def noise(seed, worlds, scale=1.0):
    return np.random.default_rng(seed).normal(0.0, scale, worlds)


def test_centres_are_the_mean_and_the_mean_of_the_middle_half():
    series = [5.0, 1.0, 100.0, 2.0, 3.0, 4.0, -50.0, 6.0]
    summary = summarise(pair_worlds(table({"a": series}, ["x"] * 8)), "r")["a"]
    assert summary.mean.value == pytest.approx(np.mean(series))
    assert summary.iqm.value == pytest.approx(np.mean(sorted(series)[2:6]))


def test_intervals_equal_those_of_a_plain_stratified_bootstrap():
    strata = ["x"] * 20 + ["y"] * 12 + ["z"] * 8
    series = noise(0, 40) + np.array([{"x": 80.0, "y": 60.0, "z": 85.0}[stratum] for stratum in strata])
    summary = summarise(pair_worlds(table({"a": series}, strata)), "r")["a"]
    draw = random.Random(3)
    groups = [series[:20].tolist(), series[20:32].tolist(), series[32:].tolist()]
    samples = [[value for group in groups for value in draw.choices(group, k=len(group))] for _ in range(4000)]
    for estimate, centre in ((summary.mean, np.mean), (summary.iqm, lambda sample: stats.trim_mean(sample, 0.25))):
        low, high = np.percentile([centre(sample) for sample in samples], (2.5, 97.5))
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.12 * (high - low))


def test_worlds_are_drawn_within_their_stratum():
    strata = ["x"] * 6 + ["y"] * 6
    series = [10.0] * 6 + [90.0] * 6
    summary = summarise(pair_worlds(table({"a": series}, strata)), "r")["a"]
    assert tuple(summary.mean) == (50.0, 50.0, 50.0)


def test_a_small_difference_in_every_world_beats_large_differences_between_worlds():
    worlds = noise(0, 30, scale=20.0)
    paired = pair_worlds(table({"better": worlds + 0.5, "worse": worlds, "also worse": worlds}, ["x"] * 30))
    places = {standing.system: standing for standing in rank(paired, "r")}
    assert [(places[name].rank_low, places[name].rank_high) for name in ("better", "worse", "also worse")] == [(1, 1), (2, 3), (2, 3)]
    assert tuple(places["worse"].difference) == pytest.approx((-0.5, -0.5, -0.5))


def test_systems_that_noise_separates_are_tied():
    values = {f"s{k}": 80.0 + noise(k, 16) for k in range(4)} | {"last": 60.0 + noise(9, 16)}
    standings = rank(pair_worlds(table(values, ["x"] * 8 + ["y"] * 8)), "r")
    assert standings[-1].system == "last"
    assert (standings[-1].rank_low, standings[-1].rank_high) == (5, 5)
    assert all(standing.rank_low <= place <= standing.rank_high for place, standing in enumerate(standings, 1))


def test_less_is_better_where_the_metric_says_so():
    paired = pair_worlds(table({"slow": 90.0 + noise(0, 12), "fast": 40.0 + noise(1, 12)}, ["x"] * 12, metric="one_way_delay_mean_ms"))
    assert [(s.system, s.rank_low, s.rank_high) for s in rank(paired, "one_way_delay_mean_ms")] == [("fast", 1, 1), ("slow", 2, 2)]


def test_differences_are_to_the_named_reference():
    paired = pair_worlds(table({"a": [3.0, 4.0], "b": [1.0, 2.0]}, ["x", "x"]))
    assert {s.system: s.difference.value for s in rank(paired, "r", reference="b")} == {"a": 2.0, "b": 0.0}
    with pytest.raises(ValueError, match="reference 'c' is not one of the systems"):
        rank(paired, "r", reference="c")


def test_equal_seeds_give_equal_numbers_whatever_the_order_of_rows():
    values = {"a": noise(0, 10), "b": noise(1, 10)}
    one = table(values, ["x"] * 10)
    other = one.take(pa.array(np.random.default_rng(5).permutation(one.num_rows)))
    assert rank(pair_worlds(one), "r", rng_seed=4) == rank(pair_worlds(other), "r", rng_seed=4)
    assert summarise(pair_worlds(one), "r", rng_seed=4) != summarise(pair_worlds(one), "r", rng_seed=5)


@pytest.mark.parametrize("strata", [["x", "y", "z", "w"], ["x", "x", "x", "y"]])
def test_strata_of_one_world_are_pooled(strata):
    summary = summarise(pair_worlds(table({"a": [1.0, 2.0, 3.0, 4.0]}, strata)), "r")["a"]
    assert summary.mean.low < summary.mean.value < summary.mean.high


def test_one_world_tells_nothing_apart():
    paired = pair_worlds(table({"a": [3.0], "b": [1.0]}, ["x"]))
    standings = rank(paired, "r")
    assert [(s.system, s.rank_low, s.rank_high) for s in standings] == [("a", 1, 2), ("b", 1, 2)]
    assert np.isnan(summarise(paired, "r")["a"].mean.low)


def test_worlds_without_a_value_for_some_system_are_left_out_for_all():
    paired = pair_worlds(table({"a": [1.0, float("nan"), 3.0], "b": [10.0, 20.0, 30.0]}, ["x"] * 3))
    assert worlds_compared(paired, "r") == 2
    assert summarise(paired, "r")["b"].mean.value == 20.0
    empty = pair_worlds(table({"a": [float("nan")] * 2, "b": [1.0, 2.0]}, ["x"] * 2))
    assert np.isnan(summarise(empty, "r")["b"].mean.value)
    assert [s.rank_high for s in rank(empty, "r")] == [2, 2]


def test_unpaired_results_are_refused_by_name():
    whole = table({"a": [1.0, 2.0], "b": [3.0, 4.0]}, ["x", "x"])
    names, pairs = whole["system"].to_pylist(), whole["pair"].to_pylist()
    lacking = whole.filter(pa.array([(name, pair) != ("b", "p1") for name, pair in zip(names, pairs, strict=True)]))
    with pytest.raises(ValueError, match=r"system 'b' has no row for 1 of 2 worlds.*'pair': 'p1'"):
        pair_worlds(lacking)
    with pytest.raises(ValueError, match="has two rows for world"):
        pair_worlds(pa.concat_tables([whole, whole]))


def test_modes_are_never_mixed():
    two = pa.concat_tables([table({"a": [1.0]}, ["x"]), table({"a": [1.0]}, ["x"], mode="paper")])
    with pytest.raises(ValueError, match="one mode"):
        pair_worlds(two)


def test_a_metric_without_a_better_end_ranks_nothing():
    paired = pair_worlds(table({"a": [1, 2]}, ["x", "x"], metric="path_changes"))
    with pytest.raises(ValueError, match="'path_changes' has no better end"):
        rank(paired, "path_changes")
