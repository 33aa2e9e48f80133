"""Verdicts on made-up results: what holds, what does not, what is reversed, ties and missing values."""

import math

import numpy as np
import pyarrow as pa
import pytest

from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.papers.truth.claims import CLAIMS, EQUAL, FIGURES, LOWER, NOT_HIGHER, SCENARIOS, SYSTEMS, Claim, Figure
from vcgym.leaderboard.papers.truth.outcomes import STATISTICS, TAUS_MS, settings
from vcgym.leaderboard.papers.truth.verdicts import FAILS, HOLDS, REVERSED, UNKNOWN, Verdict, compared_in_size, judge, number, verdict
from vcgym.leaderboard.statistics import Estimate, difference, pair_worlds
from vcgym.network.scenarios.scenario import MODES, Scenario

NAN = float("nan")


def results(delay_ms, loss=None, pairs=None):
    """Systems (name -> one value per world) with the same delays in both accountings but for 100 ms that the clocked one adds."""
    rows = []
    for system, series in delay_ms.items():
        for world, value in enumerate(series):
            pair = pairs[world] if pairs else "A-B"
            lost = loss[system][world] if loss else 0.0
            rows.append(
                {"system": system, "mode": "paper", "scenario": "s", "stratum": "x", "split": "all", "pair": pair, "seed": world}
                | {"event_end_to_end_delay_mean_ms": value, "clocked_end_to_end_delay_mean_ms": value + 100.0}
                | {"event_loss": lost, "clocked_loss": lost, "event_largest_ms": 2.0 * value}
            )
    return pa.Table.from_pylist(rows)


def claim(direction=LOWER, statistic="mean_ms", pair="*", size=None):
    return Claim("s", pair, "new", "old", direction, statistic, size=size)


NOISE = np.random.default_rng(0).normal(0.0, 1.0, (2, 40))
OLD = 200.0 + 50.0 * np.random.default_rng(1).random(40)


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (0.9 * OLD, HOLDS),  # a tenth less in each world, though worlds differ by more than that
        (1.1 * OLD, REVERSED),
        (OLD + NOISE[0] - NOISE[0].mean(), FAILS),
        (OLD, FAILS),  # a tie to the last bit
        (np.full(40, NAN), UNKNOWN),
    ],
    ids=["lower", "higher", "noise", "tie", "nothing"],
)
def test_lower(new, word):
    assert verdict(claim(), results({"new": new, "old": OLD}), "event").word == word


def test_the_change_is_a_share_of_the_references_mean():
    table = results({"new": 0.9 * OLD, "old": OLD})
    event, clocked = (verdict(claim(), table, accounting).change for accounting in ("event", "clocked"))
    assert event.value == pytest.approx(-0.1)
    assert event.low == pytest.approx(-0.1)
    assert clocked.value == pytest.approx(-0.1 * OLD.mean() / (OLD.mean() + 100.0))


def test_loss_changes_in_points():
    table = results({"new": OLD, "old": OLD}, {"new": [0.03] * 40, "old": [0.0] * 40})
    found = verdict(claim(NOT_HIGHER, "loss"), table, "event")
    assert found.change == pytest.approx((0.03, 0.03, 0.03))
    assert found.word == REVERSED
    assert verdict(claim(LOWER, "loss"), table, "clocked").word == REVERSED


@pytest.mark.parametrize(
    ("direction", "low", "high", "word"),
    [
        (LOWER, -0.2, -1e-9, HOLDS),
        (LOWER, -0.2, 0.0, FAILS),
        (LOWER, 0.0, 0.2, FAILS),
        (LOWER, 1e-9, 0.2, REVERSED),
        (EQUAL, -0.05, 0.05, HOLDS),
        (EQUAL, -0.051, 0.0, FAILS),
        (EQUAL, 0.1, 0.2, FAILS),
        (NOT_HIGHER, -0.5, 0.05, HOLDS),
        (NOT_HIGHER, 0.02, 0.06, FAILS),
        (NOT_HIGHER, 0.06, 0.07, REVERSED),
        (LOWER, NAN, NAN, UNKNOWN),
    ],
)
def test_the_word_for_an_interval(direction, low, high, word):
    assert judge(direction, Estimate((low + high) / 2.0, low, high), 0.05) == word


@pytest.mark.parametrize(
    ("size", "low", "high", "found"),
    [
        ((0.08, 0.12), -0.07, -0.05, "smaller"),
        ((0.08, 0.12), -0.09, -0.05, ""),
        ((0.08, 0.12), -0.30, -0.13, "larger"),
        ((0.08, 0.12), -0.005, -0.001, "negligible"),
        (None, -0.009, -0.001, "negligible"),
        (None, -0.2, -0.001, ""),
    ],
)
def test_size_beside_the_published(size, low, high, found):
    assert compared_in_size(claim(size=size), Verdict(Estimate(NAN, low, high), HOLDS)) == found
    assert compared_in_size(claim(size=size), Verdict(Estimate(NAN, low, high), FAILS)) == ""


def test_what_is_reversed_may_be_negligible_too():
    change = Estimate(0.002, 0.0005, 0.0008)
    assert compared_in_size(claim(size=(0.1, 0.2)), Verdict(change, REVERSED)) == "negligible"
    assert compared_in_size(claim(statistic="loss"), Verdict(change, REVERSED)) == "negligible"
    assert compared_in_size(claim(statistic="loss"), Verdict(Estimate(0.002, 0.0015, 0.003), REVERSED)) == ""


def test_only_the_pairs_that_are_meant():
    pairs = ["GR-LT", "GR-US"] * 20
    new = [half if pair == "GR-LT" else more for pair, half, more in zip(pairs, 0.5 * OLD, 1.5 * OLD, strict=True)]
    table = results({"new": new, "old": OLD}, pairs=pairs)
    assert verdict(claim(pair="GR-LT"), table, "event").word == HOLDS
    assert verdict(claim(pair="*-US"), table, "event").word == REVERSED
    assert verdict(claim(pair="ZA-*"), table, "event") is None


def test_worlds_where_one_of_the_two_has_no_value_are_left_out():
    new = 0.9 * OLD
    new[:10] = NAN
    table = results({"new": new, "old": OLD, "third": np.full(40, NAN)})
    found = difference(pair_worlds(table), "event_end_to_end_delay_mean_ms", "new", "old", relative=True)
    assert found.value == pytest.approx(-0.1)


def test_one_world_has_no_interval():
    found = verdict(claim(), results({"new": [1.0], "old": [2.0]}), "event")
    assert found.change.value == -0.5
    assert found.word == UNKNOWN


def test_a_number_is_put_together_as_its_statistic_says():
    table = results({"new": [100.0, 200.0, 300.0], "old": [1.0, 1.0, 1.0]})
    mean = number(Figure("s", "*", "new", "mean_ms", "210", 190.0, 230.0), table, "event")
    assert (mean.value, mean.within) == (200.0, True)
    largest = number(Figure("s", "*", "new", "largest_ms", "below 590", 0.0, 590.0), table, "event")
    assert (largest.value, largest.within) == (600.0, False)
    assert number(Figure("s", "Z-*", "new", "mean_ms", "1", 0.0, 1.0), table, "event") is None
    nothing = number(Figure("s", "*", "new", "mean_ms", "1", 0.0, 1.0), results({"new": [NAN], "old": [1.0]}), "event")
    assert math.isnan(nothing.value)
    assert nothing.within is None


def test_every_claim_can_be_looked_at():
    load_systems(list(SYSTEMS))
    for one in (*CLAIMS, *FIGURES):
        assert one.scenario in MODES
        assert one.statistic in STATISTICS
        assert one.system in SYSTEMS
    assert {one.reference for one in CLAIMS} <= set(SYSTEMS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_claims_are_looked_at_in_every_mode(scenario):
    found = settings(scenario)
    assert [setting.arguments["tau_ms"] for setting in found if setting.mode == "correlated"] == list(TAUS_MS)
    assert len({setting.label for setting in found}) == len(found)
    for setting in found:
        if setting.mode != "replay":
            Scenario(setting.scenario, setting.mode, **setting.arguments)
