"""Calls that are near each other in measured time count as fewer independent ones, in intervals and ranks."""

import numpy as np
import pyarrow as pa
import pytest

from vcgym.leaderboard.report.notes import notes
from vcgym.leaderboard.results.kinds import CALL
from vcgym.leaderboard.statistics import differences, means, pair_worlds, rank
from vcgym.leaderboard.statistics.paired import independent_calls, sample
from vcgym.leaderboard.statistics.ranking import MIN_CALLS

CALL_MS = 10_000
APART_MS = 2 * CALL_MS  # from the begin of a call to that of the next independent one


def calls(*begins):
    return tuple((("a", begin, begin + CALL_MS),) for begin in begins)


@pytest.mark.parametrize(
    ("played", "count"),
    [
        (calls(0, 20_000, 40_000), 3.0),
        (calls(0, 10_000, 20_000), 9 / 5),  # one after another, half of a call's time in common with the next
        (calls(*[5] * 24), 1.0),
        (calls(0, 5_000), 2 / 1.75),
        (calls(0, 15_000), 2 / 1.25),
        (((), (), ()), 3.0),  # of drawn worlds
        ((*calls(0, 0), (("b", 0, 10),)), 9 / 5),
    ],
)
def test_calls_count_by_the_share_of_time_that_they_have_in_common_with_half_a_call_around(played, count):
    assert independent_calls(played) == pytest.approx(count)


def test_of_several_paths_the_one_counts_that_overlaps_most_also_where_it_is_another_calls_other_path():
    apart, same = [("a", n * APART_MS, n * APART_MS + CALL_MS) for n in range(4)], ("b", 0, CALL_MS)
    assert independent_calls(tuple((one, same) for one in apart)) == pytest.approx(1.0)
    there_and_back = (apart[0], same), (same, apart[0])
    assert independent_calls(there_and_back) == pytest.approx(1.0)


def test_a_trace_that_is_played_in_a_circle_has_two_parts_of_a_call():
    begun_late, begun_first = (("a", 8, 10), ("a", 0, 2)), (("a", 0, 4),)
    assert independent_calls((begun_late, begun_first)) == pytest.approx(4 / 3)  # half of either
    whole = (("a", 4, 10), ("a", 0, 4))  # which touch
    assert independent_calls((whole,)) == 1.0 and independent_calls((whole, whole)) == 1.0


def rows(begins, values, pairs=1):
    """One row per call and system; each pair has its own trace."""
    return pa.Table.from_pylist(
        [
            {
                "system": system, "mode": "replay", "scenario": "replay", "stratum": "measured", "split": "all", "pair": f"p{pair}",
                "seed": 100 * pair + seed, "series": [f"trace {pair}"], "begins_ms": [begin], "ends_ms": [begin + CALL_MS], "r": value,
            }
            for system, of_system in values.items()
            for pair in range(pairs)
            for seed, (begin, value) in enumerate(zip(begins, of_system, strict=True))
        ]
    )  # fmt: skip


def test_two_minutes_played_over_and_over_give_no_interval_and_no_rank():
    draws = np.random.default_rng(0)
    values = {"a": draws.normal(80.0, 1.0, 24), "b": draws.normal(70.0, 1.0, 24)}
    paired = pair_worlds(rows(draws.integers(0, 2_000, 24).tolist(), values))
    assert sample(paired, "r").calls.tolist() == [1]
    assert np.isnan(means(paired, "r")["a"].low) and np.isnan(differences(paired, "r", "b")["a"].high)
    assert [(one.system, one.ranks) for one in rank(paired, "r")] == [("a", ""), ("b", "")]


def test_calls_far_apart_are_those_of_drawn_worlds():
    draws = np.random.default_rng(1)
    values = {"a": draws.normal(80.0, 1.0, 24), "b": draws.normal(79.5, 1.0, 24)}
    table = rows([APART_MS * n for n in range(24)], values)
    measured, drawn = pair_worlds(table), pair_worlds(table.drop_columns(["series", "begins_ms", "ends_ms"]))
    assert means(measured, "r") == means(drawn, "r") and rank(measured, "r") == rank(drawn, "r")


def test_an_interval_is_as_wide_as_that_of_the_independent_calls():
    """Each of eight calls three times: as eight calls."""
    eight = np.random.default_rng(2).normal(80.0, 1.0, 8)
    thrice = pair_worlds(rows([APART_MS * n for n in range(8)] * 3, {"a": np.tile(eight, 3)}))
    once = pair_worlds(rows([APART_MS * n for n in range(8)], {"a": eight}))
    of_all, of_eight = (means(one, "r")["a"] for one in (thrice, once))
    naive = means(pair_worlds(thrice.results.drop_columns("series")), "r")
    assert of_all.high - of_all.low == pytest.approx(of_eight.high - of_eight.low, rel=0.1)
    assert naive["a"].high - naive["a"].low < 0.6 * (of_all.high - of_all.low)


def test_pairs_are_kinds_if_each_has_enough_calls_of_its_own():
    values = {"a": np.arange(12.0)}
    assert len(sample(pair_worlds(rows([APART_MS * n for n in range(12)], values, pairs=3)), "r").sizes) == 3
    assert len(sample(pair_worlds(rows([CALL_MS * n for n in range(12)], values, pairs=3)), "r").sizes) == 1


def test_systems_have_ranks_from_so_many_calls_on():
    for count, known in ((MIN_CALLS - 1, False), (MIN_CALLS, True)):
        values = {"a": 80.0 + 0.1 * np.arange(count), "b": 70.0 + 0.1 * np.arange(count)}
        standings = rank(pair_worlds(rows([APART_MS * n for n in range(count)], values)), "r")
        assert all(bool(one.rank_low) == known for one in standings)


def test_a_board_says_as_many_calls_as_its_intervals_count():
    """Seven calls one after another are 3.77 independent ones, beside drawn worlds too."""
    values = {"a": 80.0 + 0.1 * np.arange(7), "b": 70.0 + 0.1 * np.arange(7)}
    table = rows([CALL_MS * n for n in range(7)], values)
    drawn = [row | {"scenario": "drawn", "series": [], "begins_ms": [], "ends_ms": []} for row in table.to_pylist()]
    for paired, counted in (
        (pair_worlds(table), "and count as 3 independent ones"),
        (pair_worlds(pa.Table.from_pylist(table.to_pylist() + drawn)), "7 calls over measured traces count as 3 independent ones"),
    ):
        found = sample(paired, "r")
        assert found.calls[found.is_measured].sum() == 3 and counted in " ".join(notes(paired, CALL.primary, "replay"))
