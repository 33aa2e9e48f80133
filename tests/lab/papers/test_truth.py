"""Verdicts of the truth table on synthetic results: holds, does not hold, reversed, ties and missing values."""

import numpy as np
import pyarrow as pa
import pytest

from lab.papers.judge import REVERSED
from lab.papers.truth.page import FAILS, HOLDS, UNKNOWN, in_words, number_cell
from lab.papers.vcroute.measures import Material, MissingError, measured
from lab.papers.vcroute.outcomes import TAUS_MS, settings
from lab.papers.vcroute.statements import (
    LATE_LEARNS,
    SYSTEMS,
    Change,
    StatisticFigure,
    VCRouteStatement,
    claimed_scenarios,
    load_claims,
    load_statements,
)
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.scenarios.scenario import Scenario

LOWER, EQUAL, NOT_HIGHER = "lower", "equal", "not higher"
MARGIN = 0.05
NAN = float("nan")
NAMES = {"new": "VCR-WM", "old": "DRT-BF"}


def results(delay_ms, loss=None, pairs=None):
    """Systems (new or old -> one value per world) with the same delays in both accountings but for 100 ms that the clocked one adds."""
    rows = []
    for system, series in delay_ms.items():
        for world, value in enumerate(series):
            pair = pairs[world] if pairs else "A-B"
            lost = loss[system][world] if loss else 0.0
            rows.append(
                {"system": NAMES.get(system, system), "mode": "paper", "scenario": "s", "stratum": "x", "split": "all"}
                | {"pair": pair, "seed": world}
                | {"event_end_to_end_delay_mean_ms": value, "clocked_end_to_end_delay_mean_ms": value + 100.0}
                | {"event_loss": lost, "clocked_loss": lost, "event_largest_ms": 2.0 * value}
            )
    return pa.Table.from_pylist(rows)


def claim(direction=LOWER, statistic="mean_ms", pair="*", size=None):
    """ "new" against "old", of which the names stand for two systems of the paper."""
    measure = {"of": "change", "scenario": "wonderproxy", "pair": pair, "system": "VCR-WM", "reference": "DRT-BF", "statistic": statistic}
    accepted = {LOWER: size, EQUAL: (-MARGIN, MARGIN), NOT_HIGHER: (0.0, MARGIN)}[direction]
    return made({**measure, "relative": statistic != "loss"}, direction, accepted)


def figure(statistic, low, high, pair="*"):
    return made({"of": "value", "scenario": "wonderproxy", "pair": pair, "system": "VCR-WM", "statistic": statistic}, "within", (low, high))


def made(measure, rule, accepted):
    said = {"id": "x", "source": "here", "kind": "X", "text": "x", "published": "x"}
    return VCRouteStatement.model_validate(said | {"measure": measure, "rule": rule, "accepted": accepted})


def change(statement, table, accounting):
    return measured(statement.measure, Material(None, table, None), accounting)


def word(statement, table, accounting="event"):
    return in_words(statement, change(statement, table, accounting))[0]


OLD = 200.0 + 50.0 * np.random.default_rng(1).random(40)


def test_loss_changes_in_points():
    table = results({"new": OLD, "old": OLD}, {"new": [0.06] * 40, "old": [0.0] * 40})
    assert change(claim(NOT_HIGHER, "loss"), table, "event") == pytest.approx((0.06, 0.06, 0.06))
    assert word(claim(NOT_HIGHER, "loss"), table) == REVERSED
    assert word(claim(LOWER, "loss"), table, "clocked") == REVERSED


@pytest.mark.parametrize(
    ("direction", "low", "high", "expected"),
    [
        (LOWER, -0.2, -1e-9, HOLDS),
        (LOWER, -0.2, 0.0, FAILS),
        (LOWER, 1e-9, 0.2, REVERSED),
        (EQUAL, 0.1, 0.2, FAILS),
        (NOT_HIGHER, 0.02, 0.06, FAILS),
        (NOT_HIGHER, 0.06, 0.07, REVERSED),
        (LOWER, NAN, NAN, UNKNOWN),
    ],
)
def test_the_word_for_an_interval(direction, low, high, expected):
    assert in_words(claim(direction), Estimate((low + high) / 2.0, low, high))[0] == expected


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
    assert in_words(claim(size=size), Estimate(NAN, low, high)) == (HOLDS, found)
    assert in_words(claim(size=size), Estimate(NAN, low, 0.0)) == (FAILS, "")


def test_what_is_reversed_may_be_negligible_too():
    small = Estimate(0.002, 0.0005, 0.0008)
    assert in_words(claim(size=(0.1, 0.2)), small) == (REVERSED, "negligible")
    assert in_words(claim(statistic="loss"), small) == (REVERSED, "negligible")
    assert in_words(claim(statistic="loss"), Estimate(0.002, 0.0015, 0.003)) == (REVERSED, "")
    assert in_words(claim(statistic="loss", size=(0.02, 0.03)), Estimate(NAN, -0.015, -0.01)) == (HOLDS, "")  # of loss no size is compared


def test_only_the_pairs_that_are_meant():
    pairs = ["GR-LT", "GR-US"] * 20
    new = [half if pair == "GR-LT" else more for pair, half, more in zip(pairs, 0.5 * OLD, 1.5 * OLD, strict=True)]
    table = results({"new": new, "old": OLD}, pairs=pairs)
    assert word(claim(pair="GR-LT"), table) == HOLDS
    assert word(claim(pair="*-US"), table) == REVERSED
    with pytest.raises(MissingError):
        word(claim(pair="ZA-*"), table)


def test_one_world_has_no_interval():
    table = results({"new": [1.0], "old": [2.0]})
    assert change(claim(), table, "event").value == -0.5
    assert word(claim(), table) == UNKNOWN


def test_a_number_is_put_together_as_its_statistic_says():
    table = results({"new": [100.0, 200.0, 300.0], "old": [1.0, 1.0, 1.0]})

    def cell(statement):
        return number_cell(statement, change(statement, table, "event"))

    assert cell(figure("mean_ms", 190.0, 230.0)) == "**200**"
    assert cell(figure("mean_ms", 201.0, 230.0)) == "200"  # whatever the interval
    assert cell(figure("largest_ms", 0.0, 590.0)) == "600"
    assert number_cell(figure("mean_ms", 0.0, 1.0), Estimate(NAN, NAN, NAN)) == "n/a"


def test_the_truth_table_is_a_part_of_the_published_statements():
    claims = load_claims()
    assert all(isinstance(one.measure, Change | StatisticFigure) for one in claims)
    printed = [one for one in claims if not one.id.endswith(LATE_LEARNS)]
    assert (len(printed), len(claims)) == (54, 69)
    load_systems(list(SYSTEMS))
    reproduced = {one.id for one in load_statements()}
    assert {one.id for one in claims if not one.reproduced}.isdisjoint(reproduced)
    assert {one.id for one in claims if one.reproduced} <= reproduced


@pytest.mark.parametrize("scenario", claimed_scenarios())
def test_claims_are_looked_at_in_every_mode(scenario):
    found = settings(scenario)
    assert [setting.arguments["tau_ms"] for setting in found if setting.mode == "correlated"] == list(TAUS_MS)
    assert len({setting.label for setting in found}) == len(found)
    for setting in found:
        if setting.mode != "replay":
            Scenario(setting.scenario, setting.mode, **setting.arguments)
