"""Intervals and ranks: paired, stratified and reproducible; incomparable results are rejected."""

import random
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from vcgym.leaderboard.report.notes import notes
from vcgym.leaderboard.results.kinds import CALL
from vcgym.leaderboard.statistics import differences, interquartile_means, means, pair_worlds, rank
from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE, trimmed_mean
from vcgym.leaderboard.statistics.coverage import expected
from vcgym.leaderboard.statistics.coverage import table as table_of_coverage
from vcgym.leaderboard.statistics.paired import MetricSample, sample
from vcgym.leaderboard.statistics.ranking import detectable, separated
from vcgym.leaderboard.statistics.resampling import resample
from vcgym.leaderboard.statistics.summaries import medians, profiles, shortfalls, worlds_won


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
    paired = pair_worlds(table({"a": series}, ["x"] * 8))
    assert means(paired, "r")["a"].value == pytest.approx(np.mean(series))
    assert interquartile_means(paired, "r")["a"].value == pytest.approx(np.mean(sorted(series)[2:6]))


def test_worlds_are_drawn_within_their_stratum():
    strata = ["x"] * 6 + ["y"] * 6
    series = [10.0] * 6 + [90.0] * 6
    assert tuple(means(pair_worlds(table({"a": series}, strata)), "r")["a"]) == (50.0, 50.0, 50.0)


def test_a_small_difference_in_every_world_beats_large_differences_between_worlds():
    worlds = noise(0, 30, scale=20.0)
    paired = pair_worlds(table({"better": worlds + 0.5, "worse": worlds, "also worse": worlds}, ["x"] * 30))
    places = {standing.system: standing for standing in rank(paired, "r")}
    assert [(places[name].rank_low, places[name].rank_high) for name in ("better", "worse", "also worse")] == [(1, 1), (2, 3), (2, 3)]
    assert tuple(differences(paired, "r", "better")["worse"]) == pytest.approx((-0.5, -0.5, -0.5))


def test_systems_that_noise_separates_are_tied():
    values = {f"s{k}": 80.0 + noise(k, 16) for k in range(4)} | {"last": 60.0 + noise(9, 16)}
    standings = rank(pair_worlds(table(values, ["x"] * 8 + ["y"] * 8)), "r")
    assert standings[-1].system == "last"
    assert (standings[-1].rank_low, standings[-1].rank_high) == (5, 5)
    assert all(standing.rank_low <= place <= standing.rank_high for place, standing in enumerate(standings, 1))


def test_less_is_better_where_the_metric_says_so():
    paired = pair_worlds(table({"slow": 90.0 + noise(0, 12), "fast": 40.0 + noise(1, 12)}, ["x"] * 12, metric="one_way_delay_mean_ms"))
    assert [(s.system, s.rank_low, s.rank_high) for s in rank(paired, "one_way_delay_mean_ms", -1)] == [("fast", 1, 1), ("slow", 2, 2)]


def test_differences_are_to_the_named_reference():
    paired = pair_worlds(table({"a": [3.0, 4.0], "b": [1.0, 2.0]}, ["x", "x"]))
    assert {system: found.value for system, found in differences(paired, "r", "b").items()} == {"a": 2.0, "b": 0.0}
    with pytest.raises(ValueError, match=r"'c' not among the systems \['a', 'b'\]"):
        differences(paired, "r", "c")


def test_numbers_are_the_same_whatever_the_order_of_rows():
    values = {"a": noise(0, 10), "b": noise(1, 10)}
    one = table(values, ["x"] * 10)
    other = one.take(pa.array(np.random.default_rng(5).permutation(one.num_rows)))
    assert rank(pair_worlds(one), "r") == rank(pair_worlds(other), "r")
    assert means(pair_worlds(one), "r") == means(pair_worlds(other), "r")


@pytest.mark.parametrize("strata", [["x", "y", "z", "w"], ["x", "x", "x", "y"]])
def test_strata_of_one_world_are_pooled(strata):
    found = means(pair_worlds(table({"a": [1.0, 2.0, 3.0, 4.0]}, strata)), "r")["a"]
    assert found.low < found.value < found.high


def test_one_world_tells_nothing_apart():
    paired = pair_worlds(table({"a": [3.0], "b": [1.0]}, ["x"]))
    standings = rank(paired, "r")
    assert [(s.system, s.rank_low, s.rank_high) for s in standings] == [("a", 1, 2), ("b", 1, 2)]
    assert np.isnan(means(paired, "r")["a"].low)


def test_a_world_without_a_value_is_left_out_of_that_systems_numbers_and_of_all_ranks():
    paired = pair_worlds(table({"a": [1.0, float("nan"), 3.0], "b": [10.0, 20.0, 36.0]}, ["x"] * 3))
    assert sample(paired, "r").values.shape[1] == 2
    assert (means(paired, "r")["a"].value, means(paired, "r")["b"].value) == (2.0, 22.0)
    assert differences(paired, "r", "a")["b"].value == differences(paired, "r", "a", 0.0)["b"].value == 21.0
    empty = pair_worlds(table({"a": [float("nan")] * 2, "b": [1.0, 2.0]}, ["x"] * 2))
    assert np.isnan(means(empty, "r")["a"].value) and means(empty, "r")["b"].value == 1.5
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
        rank(paired, "path_changes", 0)


def test_pairs_are_kinds_where_each_has_ten_worlds():
    def kinds(pairs):
        rows = [
            {"system": "a", "mode": "m", "scenario": "s", "stratum": "x", "split": "test", "pair": pair, "seed": seed, "r": 1.0}
            for seed, pair in enumerate(pairs)
        ]
        return len(set(pair_worlds(pa.Table.from_pylist(rows)).stratum.tolist()))

    assert kinds(["p"] * 10 + ["q"] * 10) == 2
    assert kinds(["p"] * 10 + ["q"] * 9) == 1


def test_intervals_are_wider_than_plain_ones_by_what_a_resample_scatters_too_little_and_by_students_law():
    values = noise(0, 12)[None]
    found = resample(values, np.full(4, 3), partial(trimmed_mean, trim=INTERQUARTILE))
    plain, wide = (np.subtract(*found.interval(plain)[::-1]) for plain in (True, False))
    of_kind = [3 * values[0, 3 * kind : 3 * kind + 3].var(ddof=1) for kind in range(4)]
    freedom = sum(of_kind) ** 2 / sum(variance**2 / 2 for variance in of_kind)
    assert wide / plain == pytest.approx(np.sqrt(3 / 2) * stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975))
    assert found.error == pytest.approx(np.sqrt(3 / 2) * found.resampled.std(axis=-1, ddof=1))


def test_an_interval_is_the_same_whoever_else_is_on_the_board(monkeypatch):
    strata = ["x"] * 8 + ["y"] * 6
    values = {"a": noise(0, 14), "b": noise(1, 14)}
    others = {"wild": 50.0 * noise(2, 14), "silent": [float("nan"), *noise(3, 13)], "flat": [1.0] * 14}
    few, many = (pair_worlds(table(found, strata)) for found in (values, values | others))
    monkeypatch.setattr("vcgym.leaderboard.statistics.resampling.ENTRIES", 14 * 300)  # several batches, of other sizes on each board
    for name in values:
        assert means(few, "r")[name] == means(many, "r")[name]
        assert interquartile_means(few, "r")[name] == interquartile_means(many, "r")[name]
        assert differences(few, "r", "a")[name] == differences(many, "r", "a")[name]
        assert worlds_won(few, "r", "a", 1)[name] == worlds_won(many, "r", "a", 1)[name]
        assert medians(few, "r")[name] == medians(many, "r")[name]


def test_the_stored_coverage_is_what_is_demanded():
    rows = {row.seeds: row for row in table_of_coverage()}
    assert all(row.suites == 1500 for row in rows.values())
    assert max(rows) >= 10
    for row in rows.values():
        if row.seeds >= 10:
            assert all(0.93 <= share <= 0.97 for share in (row.iqm, row.mean, row.difference))
        assert row.false_claims <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1500)
        assert row.plain < row.iqm
    assert expected(1) == expected(2) == rows[2]
    assert expected(6) == rows[5]
    assert expected(max(rows) + 1) == rows[max(rows)]


def test_many_equal_systems_are_tied_where_separate_tests_would_find_some():
    draws, apart, alone = np.random.default_rng(8), 0, 0
    for _ in range(40):
        found = MetricSample(draws.normal(0.0, 1.0, (20, 40)), np.full(4, 10), np.full(4, 10), np.zeros(4, bool))
        apart += separated(found, 1, resamples=300).beats.any()
        difference = found.values[:, None] - found.values[None]
        t = np.abs(difference.mean(axis=-1)) / np.maximum(difference.std(axis=-1, ddof=1) / np.sqrt(40), 1e-12)
        alone += (t > stats.t(39).ppf(0.975)).any()
    assert apart <= 6  # 2 expected; 7 or more in one of 200
    assert alone >= 30


def test_a_difference_of_the_detectable_size_is_found_in_four_of_five_suites():
    draws, found_alone, sizes = np.random.default_rng(9), 0, []
    size = 1.0
    for _ in range(60):
        worlds = draws.normal(0.0, 5.0, 40)
        values = {"a": worlds + draws.normal(0.0, 1.0, 40), "b": worlds + size + draws.normal(0.0, 1.0, 40)}
        paired = pair_worlds(table(values, ["x"] * 20 + ["y"] * 20))
        found = detectable(paired, "r")
        sizes.append(found.alone)
        assert found.together == pytest.approx(found.alone, rel=0.2)
        assert found.comparisons == 1
        apart = differences(paired, "r", "a")["b"]
        found_alone += apart.low > 0.0 or apart.high < 0.0
    # The power at size 1 that a median detectable size implies, by the normal law.
    implied = stats.norm.cdf((1.96 + 0.8416) / np.median(sizes) - 1.96)
    assert found_alone / 60 == pytest.approx(implied, abs=0.15)


@pytest.mark.parametrize("worlds", [3, 6, 12])
def test_what_few_worlds_could_have_shown_is_not_guessed(worlds):
    draws = np.random.default_rng(4)
    paired = pair_worlds(table({name: draws.normal(80.0, 5.0, worlds).tolist() for name in "ab"}, ["x"] * worlds))
    said = notes(paired, CALL.primary, "paper")[-1]
    assert np.isfinite(detectable(paired, "r").together) == (worlds == 12)
    assert ("probability is" in said, "too few" in said) == (worlds == 12, worlds < 12)


def test_worlds_won_medians_and_shortfalls():
    paired = pair_worlds(table({"a": [70.0, 90.0, 84.0, 84.0], "b": [60.0, 90.0, 85.0, 90.0]}, ["x", "x", "y", "y"]))
    assert worlds_won(paired, "r", "b", 1)["a"].value == pytest.approx((1.0 + 0.5) / 4)
    assert worlds_won(paired, "r", "b", -1)["a"].value == pytest.approx((2.0 + 0.5) / 4)
    assert medians(paired, "r")["a"].value == pytest.approx(np.median([80.0, 84.0]))
    assert shortfalls(paired, "r", 80.0)["b"].value == pytest.approx(20.0 / 4)
    above = profiles(paired, "r", np.array([65.0, 84.0]))["a"]
    assert above.share.tolist() == [1.0, 0.25]
