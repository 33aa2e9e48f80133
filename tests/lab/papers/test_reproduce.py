"""Acceptance rules and measures on synthetic numbers; the published statements; verifiable inconsistencies of the paper."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from lab.papers.causes import SHARES
from lab.papers.judge import CANNOT, NOT, REPRODUCED, WORDS, judge
from lab.papers.reproduce.parts import MEDIAN, MODES, REPLAY_PACKETS, SCALE_PACKETS, packets_of, parts_of, settings_of
from lab.papers.reproduce.verdicts import shares, verdicts
from lab.papers.vcroute import statements as p
from lab.papers.vcroute.forecasts import RELATIVE_ERRORS
from lab.papers.vcroute.measures import Material, MissingError, measured
from lab.papers.vcroute.statements import LATE_LEARNS, VCRouteStatement, load_statements, scenario_of
from lab.papers.verdicts import INPUT, VERDICTS, shown
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.scenarios.scenario import Scenario

NAN = float("nan")
STATEMENTS = load_statements()
BY_ID = {statement.id: statement for statement in STATEMENTS}


def statement(rule, accepted=None, **more):
    nothing = {"id": "x", "source": "here", "kind": "X", "text": "x", "published": "x", "measure": {"of": "nothing"}}
    return VCRouteStatement.model_validate(nothing | {"rule": rule, "accepted": accepted} | more)


@pytest.mark.parametrize(
    ("rule", "accepted", "low", "high", "verdict", "reason"),
    [
        ("within", (90, 110), 100, 100, REPRODUCED, "interval meets the published range"),
        ("within", (90, 110), 109, 115, REPRODUCED, "interval meets the published range"),
        ("within", (90, 110), 110.1, 115, NOT, "larger than published"),
        ("within", (90, 110), 80, 89.9, NOT, "smaller than published"),
        ("within", (90, 110), 60, 140, NOT, "the interval is too wide to tell"),  # meets the range, and so would nearly anything
        ("within", (-0.16, 0.0), -0.05, 0.02, REPRODUCED, "interval meets the published range"),
        ("at most", (0, 640), 600, 640, REPRODUCED, "as low as published"),
        ("at most", (0, 640), 600, 641, NOT, "may be higher than published"),
        ("at most", (0, 640), 641, 650, NOT, "higher than published"),
        ("at least", (0.8, 1), 0.8, 0.9, REPRODUCED, "as high as published"),
        ("at least", (0.8, 1), 0.79, 0.9, NOT, "may be lower than published"),
        ("lower", None, -0.3, -1e-9, REPRODUCED, "the direction holds"),
        ("lower", None, -0.3, 0.0, NOT, "no difference that the worlds tell"),
        ("lower", None, 0.1, 0.3, NOT, "reversed"),
        ("lower", (0.08, 0.12), -0.09, -0.05, REPRODUCED, "the direction holds, and so does the size"),
        ("lower", (0.08, 0.12), -0.07, -0.05, NOT, "the direction holds, the size is smaller"),
        ("lower", (0.08, 0.12), -0.30, -0.13, NOT, "the direction holds, the size is larger"),
        ("lower", (0.08, 0.12), -0.30, 0.01, NOT, "no difference that the worlds tell"),  # meets the size, but the direction is not sure
        ("higher", None, 1e-9, 0.3, REPRODUCED, "the direction holds"),
        ("higher", None, -0.1, 0.3, NOT, "no difference that the worlds tell"),
        ("higher", None, -0.3, -0.1, NOT, "reversed"),
        ("equal", (-0.05, 0.05), -0.05, 0.05, REPRODUCED, "no difference beyond the margin"),
        ("equal", (-0.05, 0.05), -0.051, 0.0, NOT, "may be a difference beyond the margin"),
        ("not higher", (0, 0.01), -0.5, 0.01, REPRODUCED, "as low as published"),
        ("not higher", (0, 0.01), -0.5, 0.011, NOT, "may be higher than published"),
        ("within", (90, 110), NAN, NAN, CANNOT, "too few worlds for an interval"),
        ("lower", None, NAN, NAN, CANNOT, "too few worlds for an interval"),
    ],
)
def test_when_ours_counts_as_the_published(rule, accepted, low, high, verdict, reason):
    assert judge(statement(rule, accepted), Estimate((low + high) / 2.0, low, high)) == (verdict, reason)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "within"}, "without a range"),
        ({"rule": "none"}, "without a note"),
        ({"rule": "within", "accepted": (2.0, 1.0)}, "low <= high"),
        ({"rule": "guess"}, "rule"),
        ({"measure": {"of": "value", "scenario": "moon", "pair": "*", "system": "VCR-WM", "statistic": "mean_ms"}}, "allowed: wonderproxy"),
        ({"measure": {"of": "value", "scenario": "cloud", "pair": "*", "system": "BEST", "statistic": "mean_ms"}}, "system is 'BEST'"),
        ({"measure": {"of": "value", "scenario": "cloud", "pair": "*", "system": "VCR-WM", "statistic": "joy"}}, "statistic is 'joy'"),
        ({"measure": {"of": "guess"}}, "guess"),
    ],
)
def test_a_statement_that_cannot_be_judged_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        statement(**({"rule": "lower"} | change))


def test_late_packets_teach_only_where_wmjitter_is_meant():
    for one in STATEMENTS:
        if one.id.endswith(LATE_LEARNS):
            read = BY_ID[one.id.removesuffix(LATE_LEARNS)]
            named = one.measure.model_dump().values()
            assert any(str(value).endswith("-WML") for value in named)
            assert not any(str(value).endswith("-WM") for value in named)
            assert read.accepted == one.accepted


def test_every_statement_has_a_verdict_in_every_mode_even_without_worlds(tmp_path):
    rows = verdicts(STATEMENTS, {}, 1e-3)
    write(VERDICTS, rows, tmp_path / "verdicts.parquet")
    for mode in MODES:
        assert {row["statement"] for row in rows if row["mode"] == mode} == set(BY_ID)
    assert {row["mode"] for row in rows if row["statement"] == "VI-C1-worst"} == {*MODES, MEDIAN}
    for row in rows:
        assert row["verdict"] in WORDS
        assert row["reason"]
        if scenario_of(BY_ID[row["statement"]]):
            assert row["verdict"] == CANNOT


def test_calls_are_as_long_as_their_worlds_allow():
    wonderproxy, replay, scale = settings_of("wonderproxy")[0], settings_of("wonderproxy")[-1], settings_of("synthetic-900")[0]
    assert [packets_of(setting, 600_000) for setting in (wonderproxy, replay, scale)] == [600_000, REPLAY_PACKETS, SCALE_PACKETS]
    assert [packets_of(setting, 100) for setting in (wonderproxy, replay, scale)] == [100] * 3


@pytest.mark.data
def test_the_longest_replay_fits_into_its_series():
    assert sum(len(part.draws) for part in parts_of(settings_of("wonderproxy")[-1], 1, 600_000)) == 30


def test_relayed_paths_of_table_one():
    """I6: the loss by Guangzhou follows from the table as 0.74 %, not as the 0.70 % of the text; the round trip by Tokyo is as printed."""
    table1 = Material(Scenario("table1", "paper", 100), None, None)
    loss = measured(BY_ID["II-A-loss-via-guangzhou"].measure, table1, "event")
    assert loss.value == pytest.approx(1.0 - (1.0 - 0.0006) * (1.0 - 0.0068))
    assert judge(BY_ID["II-A-loss-via-guangzhou"], loss) == (NOT, "larger than published")
    via_tokyo = measured(BY_ID["II-A-via-tokyo"].measure, table1, "event")
    assert via_tokyo == (243.0, 243.0, 243.0)
    assert judge(BY_ID["II-A-via-tokyo"], via_tokyo)[0] == REPRODUCED


def calls(delays, pairs, **columns):
    """Systems (name -> one mean delay per world) on worlds of the given pairs."""
    rows = []
    for system, series in delays.items():
        for world, value in enumerate(series):
            row = {"system": system, "mode": "paper", "scenario": "s", "stratum": "x", "split": "all", "pair": pairs[world], "seed": world}
            row |= {f"{accounting}_end_to_end_delay_mean_ms": value for accounting in ("event", "clocked")}
            rows.append(row | {name: values[world] for name, values in columns.items()})
    return pa.Table.from_pylist(rows)


PAIRS = ["GR-IDN", "GR-IDN", "GR-LT", "GR-LT"]
MADE_UP = calls({"DRT-BF": [100.0, 100.0, 50.0, 50.0], "VCR-WM": [40.0, 60.0, 49.0, 50.0]}, PAIRS)


def found(measure, results, scenario=None, **more):
    return measured(measure, Material(scenario, results, more.pop("forecasts", None)), "event")


def test_a_change_is_a_share_of_the_references_mean():
    change = p.Change(of="change", scenario="wonderproxy", pair="GR-IDN", system="VCR-WM", reference="DRT-BF", statistic="mean_ms")
    # Two worlds: resamples lie 0.1 around, and two are few.
    half = 0.1 * math.sqrt(2) * stats.t.ppf(0.975, 1) / stats.norm.ppf(0.975)
    assert found(change, MADE_UP) == pytest.approx((-0.5, -0.5 - half, -0.5 + half))


def test_a_share_of_nothing_cannot_be_taken():
    results = MADE_UP.append_column("event_loss", pa.array([0.0] * 8))
    change = p.Change(of="change", scenario="wonderproxy", pair="*", system="VCR-WM", reference="DRT-BF", statistic="loss")
    with pytest.raises(MissingError, match="DRT-BF has none in most worlds"):
        found(change, results)


def test_the_share_of_calls_in_which_a_system_is_worst():
    worst = p.Worst(of="worst", scenario="wonderproxy", system="DRT-BF", among=("VCR-WM",))
    assert found(worst, MADE_UP).value == 0.75  # a tie is not worst


def test_the_pair_in_which_the_delay_falls_most():
    best = p.BestPair(of="best_pair", scenario="wonderproxy", system="VCR-WM", reference="DRT-BF")
    assert found(best, MADE_UP).value == pytest.approx(-0.5)


def test_gains_of_two_groups_of_pairs():
    gap = p.GainGap(of="gain_gap", scenario="wonderproxy", system="VCR-WM", reference="DRT-BF", pairs="*-[IU]*", others="*-[AL]*")
    ours = found(gap, MADE_UP)
    assert ours.value == pytest.approx(-0.5 - -0.01)
    assert ours.low <= ours.value <= ours.high < 0.0


def test_paths_are_found_by_their_relay():
    scenario = Scenario("wonderproxy", "paper", 100)
    names = scenario.recipe.nodes("GR-UGA")
    means = [float(number) for number in range(scenario.paths)]
    results = calls({"DRT-BF": [1.0, 1.0]}, ["GR-UGA", "GR-UGA"], path_mean_ms=[means, means])
    direct, via = (p.PublishedPath(of="path", scenario="wonderproxy", pair="GR-UGA", via=relay) for relay in (None, "ZA"))
    assert found(direct, results, scenario).value == 0.0
    assert found(via, results, scenario).value == names.index("ZA")  # direct is path 0, the one-relay paths follow by number
    assert found(p.Paths(of="paths", scenario="wonderproxy"), results, scenario).value == 17.0
    for end in ("least", "largest"):
        assert found(p.DirectRange(of="direct_range", scenario="wonderproxy", end=end), results, scenario).value == 0.0


def test_only_what_is_said_of_all_pairs_is_looked_at_elsewhere():
    replay = calls({"DRT-BF": [1.0, 1.0], "VCR-WM": [0.5, 0.5]}, ["leo", "leo"])
    change = p.Change(of="change", scenario="wonderproxy", pair="*", system="VCR-WM", reference="DRT-BF", statistic="mean_ms")
    assert found(change, replay).value == -0.5
    with pytest.raises(MissingError, match="other places"):
        found(change.model_copy(update={"pair": "GR-*"}), replay)


def test_figures_of_the_predictor_rest_on_all_packets():
    errors, targets = [np.array([10.0, 0.0]), np.array([20.0, 20.0, 0.0])], [np.array([100.0, 200.0]), np.array([150.0, 50.0, 100.0])]
    rows = [
        {
            "pair": "ZA-IDN", "packets": float(len(target)), "squared_error": float((error**2).sum()),
            "within": float((error / target <= 0.1).sum()), "target_sum": float(target.sum()), "target_squares": float((target**2).sum()),
            "target_low_ms": float(target.min()), "target_high_ms": float(target.max()), "relative_errors": [0] * len(RELATIVE_ERRORS),
        }
        for error, target in zip(errors, targets, strict=True)
    ]  # fmt: skip
    table, error, target = pa.Table.from_pylist(rows), np.concatenate(errors), np.concatenate(targets)
    wanted = {
        "rmse_ms": math.sqrt((error**2).mean()), "r2": 1.0 - (error**2).sum() / ((target - target.mean()) ** 2).sum(),
        "within_10_percent": (error / target <= 0.1).mean(), "target_mean_ms": target.mean(), "target_sd_ms": target.std(),
        "target_low_ms": 50.0, "target_high_ms": 200.0,
    }  # fmt: skip
    for what, value in wanted.items():
        ours = found(p.ForecastFigure(of="forecast", scenario="wonderproxy", pair="*", what=what), None, forecasts=table)
        assert ours.value == pytest.approx(value)
        assert ours.low <= ours.value <= ours.high


def test_shares_take_one_reading_and_leave_inputs_out():
    rows = [
        {"statement": name, "mode": "paper", "accounting": "event", "verdict": verdict, "origin": origin, "cause": cause}
        for name, verdict, origin, cause in (
            ("a", NOT, "outcome", "world"), (f"a{LATE_LEARNS}", REPRODUCED, "outcome", ""), ("b", CANNOT, "outcome", ""),
            ("c", REPRODUCED, INPUT, ""), ("d", NOT, "outcome", ""),
        )
    ]  # fmt: skip
    rows.append(rows[0] | {"accounting": "clocked", "verdict": REPRODUCED})
    assert shares(rows, late_learns=False) == {"paper": dict(zip(SHARES, (0, 1, 1, 1), strict=True))}
    assert shares(rows, late_learns=True) == {"paper": dict(zip(SHARES, (1, 0, 1, 1), strict=True))}


def test_how_a_value_is_shown():
    def row(ours, low, high, unit):
        return {"ours": ours, "low": low, "high": high, "unit": unit}

    assert shown(row(0.1234, 0.1, 0.15, "%")) == "12.3 [10, 15] %"
    assert shown(row(-0.005, -0.005, -0.005, "points")) == "-0.5 points"
    assert shown(row(123.456, NAN, NAN, "ms")) == "123.5 ms"
    assert shown(row(NAN, NAN, NAN, "ms")) == ""
    assert shown(row(0.98, 0.98, 0.98, "")) == "0.98"
