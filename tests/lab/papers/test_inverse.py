"""Inverse reproduction: declared assumptions, worlds, the search and the ablation on made-up trials."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lab.papers.inverse import run
from lab.papers.inverse.ablation import ablate
from lab.papers.inverse.assumptions import DECLARED, Assumptions
from lab.papers.inverse.authors_log import Packets, compared, drawn, fit
from lab.papers.inverse.experiments import experiments
from lab.papers.inverse.page import document
from lab.papers.inverse.results import OUT_OF_REACH, Inverse, load_inverse
from lab.papers.inverse.search import climb, evolve, sample
from lab.papers.inverse.trial import Trial, count_lost, judged_statements, systems_of
from lab.papers.inverse.worlds import AssumedRecipe
from lab.papers.judge import NOT, REPRODUCED
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.vcroute.statements import LATE_LEARNS, load_statements
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import every_pair
from vcgym.leaderboard.results.cdf import GRID_MS
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import data_root, parse_carded

STATEMENTS = judged_statements()
FIRST, SECOND, THIRD, FOURTH = (one.id for one in STATEMENTS[:4])


def played(blocks=4, about="wonderproxy", **changes):
    """Delays (paths, slots) of one call in ms, NaN where lost, and its history."""

    def made(settings):
        return AssumedRecipe(settings, about, Assumptions(**changes))

    made.modes = ("paper",)
    made.__name__ = "made"
    scenario = Scenario(made, "paper", 1000)
    draw = every_pair(scenario, 1)[0]
    world = scenario.world(1)
    history, found = world.start(0, draw), []
    for _ in range(blocks):
        found.append(world.delay_us[0].copy())
        world.fill(np.array([0]))
    delay_us = np.hstack(found)
    return np.where(delay_us == LOST, np.nan, delay_us / 1000.0), history


def lag_one(row):
    return np.corrcoef(row[1:], row[:-1])[0, 1]


def test_an_undeclared_value_is_refused():
    with pytest.raises(ValueError, match="tau_ms is 7; allowed: 0"):
        Assumptions(tau_ms=7)
    assert Assumptions(burst="median", loss=0.01).changes == {"burst": "median", "loss": 0.01}
    assert len(Assumptions().neighbours()) == sum(len(known.values) - 1 for known in DECLARED.values())


def test_the_defaults_are_mode_paper_bit_for_bit():
    plain = Scenario("wonderproxy", "paper", 1000)
    world, draw = plain.world(1), every_pair(plain, 1)[0]
    assert np.array_equal(world.start(0, draw), played()[1])
    assert np.array_equal(world.delay_us[0] / 1000.0, played(1)[0])


def test_delays_are_correlated_as_declared_and_keep_their_distribution():
    independent, correlated = played(200)[0][0], played(200, tau_ms=200.0)[0][0]
    assert abs(lag_one(independent)) < 0.02
    assert 0.9 < lag_one(correlated) < math.exp(-10.0 / 200.0)  # the copula's correlation bounds that of a skewed margin
    assert correlated.mean() == pytest.approx(independent.mean(), rel=0.05)
    assert np.allclose(np.quantile(correlated, [0, 1]), np.quantile(independent, [0, 1]), rtol=1e-3)


def test_order_loss_scale_and_series():
    free, fifo = played()[0], played(order="fifo")[0]
    assert (np.diff(free) < -10.0).any()
    assert not (np.diff(fifo) < -10.0 - 1e-6).any()
    assert np.all(fifo >= free)
    assert np.isnan(played(20, loss=0.05)[0][0]).mean() == pytest.approx(0.05, abs=0.01)
    assert np.allclose(played(round_trip=0.5)[0], free / 2.0, atol=2e-3)
    wider = played(spread=2.0)[0]
    assert wider.std() > free.std()
    assert np.allclose(wider[0].min(), free[0].min(), rtol=1e-2)
    shared = played(series="shared")[0]
    assert np.corrcoef(shared[0], shared[1])[0, 1] > 0.5 > abs(np.corrcoef(free[0], free[1])[0, 1])


def test_the_history_is_as_long_and_of_the_burst_as_declared():
    for packets in DECLARED["history_packets"].values:
        assert set(played(1, history_packets=packets)[1][:, 0]) == {packets}
    call, before = played(history="other")
    assert np.array_equal(call, played()[0])
    assert np.allclose(before[:, 1], played(burst="median")[1][:, 1], rtol=1e-3)


def test_a_mixture_lies_between_its_bursts():
    worst, median, mixture = (np.nanmean(played(40, burst=burst)[0]) for burst in ("worst", "median", "mixture"))
    assert median < mixture < worst
    assert median <= np.nanmean(played(40, burst="hour")[0]) <= worst


def test_readings_change_the_systems_they_name():
    plain = systems_of(Assumptions())
    assert list(plain) == ["DRT-BF", "DRT-WM", "VIA-BF", "VIA-WM", "VCR-BF", "VCR-WM"]
    late = systems_of(Assumptions(late_teaches=True))
    assert late["DRT-WM"].playout.update_on_late
    assert late["DRT-BF"] == plain["DRT-BF"]
    for field in ("topk", "reward", "sample"):
        for value in DECLARED[field].values[1:]:
            assert systems_of(Assumptions(**{field: value}))["VCR-WM"] != plain["VCR-WM"]


def test_what_counts_as_lost():
    within = np.minimum(np.arange(len(GRID_MS)), 40)
    calls = pa.table({
        **{f"{how}_loss": [0.5] for how in ("event", "clocked")}, **{f"{how}_late_loss": [0.2] for how in ("event", "clocked")},
        **{f"{how}_packets_within": [within.tolist()] for how in ("event", "clocked")},
        **{f"{how}_packets_sent": [100] for how in ("event", "clocked")},
    })  # fmt: skip
    assert [count_lost(calls, lost)["event_loss"][0].as_py() for lost in DECLARED["lost"].values] == [0.5, 0.2, 0.6]


def made_up(held):
    """A trial function: statement -> predicate of the changes under which it holds; others never hold."""

    def attempt(assumed, *_):
        rows = []
        for one in STATEMENTS:
            holds = one.id in held and held[one.id](assumed.changes)
            far = 0.0 if holds else 1e6 / (1.0 + len(assumed.changes))  # every change brings ours nearer
            rows.append({"statement": one.id, "verdict": REPRODUCED if holds else NOT, "ours": far, "low": far, "high": far})
        return Trial(assumed, pa.Table.from_pylist(rows))

    return attempt


HELD = {
    FIRST: lambda changes: not changes,
    SECOND: lambda changes: changes.get("burst") == "median",
    THIRD: lambda changes: {"burst", "round_trip"} <= set(changes),
    FOURTH: lambda changes: {"tau_ms", "order", "topk"} <= set(changes),
}


def ablated(name, more=()):
    attempt = made_up(HELD)
    trials = {assumed: attempt(assumed) for assumed in (Assumptions(), *Assumptions().neighbours(), *more)}
    return ablate(next(one for one in STATEMENTS if one.id == name), Assumptions(), trials, attempt, attempt)


def test_the_fewest_changes_are_found():
    assert ablated(SECOND).trial.assumed.changes == {"burst": "median"}
    assert ablated(SECOND).singles == 1
    assert set(ablated(THIRD).trial.assumed.changes) == {"burst", "round_trip"}
    assert ablated(FOURTH).trial is None
    many = Assumptions(tau_ms=200.0, order="fifo", topk="published", loss=0.05, clock_ppm=100.0)
    assert set(ablated(FOURTH, [many]).trial.assumed.changes) == {"tau_ms", "order", "topk"}


def test_the_climb_ends_where_no_single_change_is_better():
    attempt = made_up(HELD | {FIRST: lambda changes: "loss" in changes})
    best = climb(Assumptions(), attempt)
    assert {FIRST, SECOND} <= best.held
    assert all(len(attempt(near).held) <= len(best.held) for near in best.assumed.neighbours())


def test_the_climb_leaves_a_point_that_only_two_changes_improve():
    both = {"round_trip", "order"}
    attempt = made_up({FIRST: lambda changes: both <= set(changes), SECOND: lambda changes: "burst" not in changes})
    best = climb(Assumptions(), attempt)
    assert best.held == {FIRST, SECOND}
    assert set(best.assumed.changes) == both  # a field that does not matter keeps its default


def test_the_genetic_search_finds_what_its_sample_lacks():
    attempt = made_up(HELD | {FIRST: lambda changes: changes.get("clock_ppm") == 100.0})
    found = evolve(0, 16, attempt)
    assert found.assumed == evolve(0, 16, attempt).assumed
    assert len(found.held) > max(len(attempt(assumed).held) for assumed in sample(0, 16))


def test_a_genetic_search_can_begin_with_one_point():
    attempt = made_up(HELD)
    assert len(evolve(0, 1, attempt).held) >= len(attempt(sample(0, 1)[0]).held)


def test_the_sample_is_sparse_and_its_seed_decides_it():
    found = sample(0, 64)
    assert found == sample(0, 64) != sample(1, 64)
    assert 2 < np.mean([len(one.changes) for one in found]) < 6


def test_a_search_writes_what_it_found(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "tried", made_up(HELD))
    config = ReproduceConfig(folder=tmp_path, search=True, search_seeds=(0, 1), search_sample=8)
    told = []
    page = run.search(config, lambda done, note: told.append(done)).read_text()
    text = (tmp_path / "inverse_vcroute.json").read_text()
    found = parse_carded(Inverse, "inverse_vcroute.json", text)
    assert told == list(range(found.budget.tried + found.budget.confirmed))
    assert found.budget.tried >= run.min_trials(config)
    assert found.held == (FIRST,)
    rows = {row.statement: row for row in found.ablation}
    assert set(rows) == {one.id for one in STATEMENTS} - {FIRST}
    assert (rows[SECOND].changes, rows[SECOND].cause, rows[SECOND].broken) == ({"burst": "median"}, "world", (FIRST,))
    assert rows[THIRD].cause == "world"
    late = {row.statement: row.changes for row in found.late}
    assert late[SECOND] == {"burst": "median"}
    assert {name + LATE_LEARNS for name in late} <= {one.id for one in load_statements()}
    assert rows[STATEMENTS[5].id].cause == "out of reach"
    assert STATEMENTS[5].id in found.never
    assert [(best.source, best.seed) for best in found.best[:2]] == [("all", 0), ("all", 1)]
    assert all(best.without.keys() == best.changes.keys() and max(best.without.values()) < len(best.held) for best in found.best[:2])
    assert json.loads(text)["budget"]["seeds"] == [0, 1]
    assert all(f"| {one.text} | {one.source} |" in page for one in STATEMENTS)


def test_what_a_log_is_compared_by():
    packets = Packets(np.array([100.0, 95.0, np.nan, 100.0, 85.0, 100.0]))
    assert packets.overtaken == pytest.approx(1 / 3)  # 85 ms, sent 10 ms later, arrives before 100 ms
    assert packets.missing == pytest.approx(1 / 6)
    assert fit(Assumptions(), drawn(Assumptions(), 2000)).misfit == 0.0
    assert fit(Assumptions(tau_ms=50.0), drawn(Assumptions(), 2000)).misfit > 0.5


@pytest.mark.data
def test_the_authors_log_fits_independent_draws_from_the_worst_burst_of_the_whole_round_trip():
    log = compared(data_root())
    assert (log.packets, round(log.overtaken, 2), round(log.correlation, 1)) == (22_363, 0.31, 0.0)
    assert log.fits[0].changes == {}
    assert log.fits[0].misfit < 0.15
    misfit = {str(one.changes): one.misfit for one in log.fits}
    for other in ({"burst": "median"}, {"round_trip": 0.5}, {"tau_ms": 50.0}, {"order": "fifo"}):
        assert misfit[str(other)] > 0.5


def test_the_shipped_page_shows_the_shipped_outcome():
    found = load_inverse()
    assert (Path(__file__).parents[3] / "lab" / "notes" / "inverse.md").read_text(encoding="utf-8") == document(found)
    shown = {one.statement: one for one in experiments(found)}
    assert set(shown) == (set(found.judged) - set(found.held)) | {row.statement + LATE_LEARNS for row in found.late}
    assert all((OUT_OF_REACH in shown[row.statement].causes) == (row.changes == {}) for row in found.ablation)
