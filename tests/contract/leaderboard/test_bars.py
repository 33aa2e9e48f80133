"""Bars: every playable board of calls has one, chosen by the shipped means and without test worlds."""

import pytest

from lab.shipped.bars import body_of, validation_suite
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import load_study, tuning_trials
from vcgym.leaderboard.evaluation import bars
from vcgym.leaderboard.evaluation.bars import bar_of, bar_on, beats_elsewhere, load_bars, of_any_kind, references
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import board_name
from vcgym.leaderboard.tuning.tune_config import TuneConfig

BARS = load_bars()
TUNED_FOR = {key: [name for name in systems_of(suite) if tuning_trials(name)] for key, suite in SUITES.items()}


def version(suite):
    return f"{suite.name}-{suite.version}"


@pytest.mark.parametrize("key", [key for key, tuned in TUNED_FOR.items() if tuned])
def test_each_board_of_a_suite_has_a_bar(key):
    suite = SUITES[key]
    found = BARS.bars[version(suite)]
    assert found.keys() == {board_name(part.mode, part.stratum) for part in suite.parts}
    assert BARS.metric[version(suite)] == suite.columns.ranked_by
    assert set(references(version(suite))) == set(found.values())


@pytest.mark.parametrize("suite", BARS.bars)
def test_the_bar_has_the_best_mean_of_all_tuned_systems_that_may_be_a_reference(suite):
    """It beats its published constants on kinds left out, or is on the worlds that it was tuned on."""
    (definition,) = (one for one in SUITES.values() if version(one) == suite)
    for board, means in BARS.validation[suite].items():
        assert list(means.values()) == sorted(means.values(), reverse=True)
        assert means.keys() == set(next(tuned for key, tuned in TUNED_FOR.items() if version(SUITES[key]) == suite))
        assert means.keys() <= set(system_names())
        parts = {part for part in definition.parts if board_name(part.mode, part.stratum) == board}
        may = [name for name in means if beats_elsewhere(name) or all(is_known(name, part) for part in parts)]
        assert BARS.bars[suite][board] == (max(may, key=means.__getitem__) if may else "")


def is_known(name, part):
    """True if a form was tuned on the worlds of a part alone, or beats its published values there."""
    study = load_study(name)
    budget, kind = study["budget"], part.stratum if part.mode == "bottleneck" else part.mode
    if "kinds" not in budget and part.scenario == budget["scenario"] and budget.get("mode", kind) == kind:
        return True
    found = study["left_out"].get("r") or study["left_out"].get("utility") or study["left_out"].get("audio_on_time")
    scenario = "synthetic-9" if part.scenario.startswith("synthetic-") else part.scenario
    one = found.get(f"{scenario} {kind}", {"difference": 0.0, "half_width": 0.0})
    return one["difference"] > one["half_width"]


def test_a_form_that_is_worse_on_kinds_left_out_is_no_reference_elsewhere(monkeypatch):
    worse, better = {"difference": -1.0, "half_width": 0.5}, {"difference": 1.0, "half_width": 0.5}
    here, everywhere = {"scenario": "wonderproxy", "mode": "correlated"}, {"kinds": ["stress correlated"]}
    studies = {
        "A-tuned": {"left_out": {"beats_published": False, "r": {"leo replay": better, "stress correlated": worse}}, "budget": here},
        "B-tuned": {"left_out": {"beats_published": True, "r": {"leo replay": worse}}, "budget": here},
        "C-tuned": {"left_out": {"beats_published": False, "r": {"stress correlated": worse}}, "budget": everywhere},
    }
    monkeypatch.setattr(bars, "tuned_names", lambda: tuple(studies))
    for module in ("vcgym.leaderboard.evaluation.bars", "lab.shipped.bars"):
        monkeypatch.setattr(f"{module}.load_study", studies.__getitem__)
    means = {
        "stress-v1": {"correlated": {"C-tuned": 82.0, "A-tuned": 81.0, "B-tuned": 80.0}},
        "correlated-v0": {"correlated": {"A-tuned": 80.0, "B-tuned": 81.0}, "correlated-natural": {"A-tuned": 81.0, "B-tuned": 80.0}},
        "replay-v0": {"replay": {"C-tuned": 82.0, "A-tuned": 81.0, "B-tuned": 80.0}},
    }
    assert body_of({}, means, {})["bars"] == {
        "stress-v1": {"correlated": "B-tuned"}, "replay-v0": {"replay": "A-tuned"},
        "correlated-v0": {"correlated": "B-tuned", "correlated-natural": "A-tuned"},
    }  # fmt: skip
    kinds = {"A-tuned": "tuned", "PUBLISHED": "rule", "B-tuned": "tuned"}
    assert bar_on("mine-1234", "replay", kinds).system == "B-tuned"
    assert bar_on("mine-1234", "replay", {"A-tuned": "tuned", "PUBLISHED": "rule"}).system == ""


@pytest.mark.parametrize("key", [key for key, suite in SUITES.items() if suite.kind == PATHS])
def test_the_rule_for_unknown_paths_plays_every_suite_over_paths(key):
    assert of_any_kind() in systems_of(SUITES[key])


def test_the_rule_for_unknown_paths_has_the_least_regret():
    found = BARS.any_kind
    assert found.system == min(found.regret, key=found.regret.__getitem__)
    assert list(found.regret.values()) == sorted(found.regret.values())
    assert found.regret.keys() <= set(system_names()) and set(found.left_out.values()) <= found.regret.keys()
    assert found.left_out.keys() == TuneConfig().kinds.keys()


def test_an_unknown_suite_has_no_bar():
    assert bar_of("mine-1234", "replay") == bar_of("correlated-v0", "paper") == ""


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_validation_worlds_are_drawn_as_the_suites_own(suite):
    drawn = validation_suite(suite)
    assert {part.split for part in drawn.parts} == {"validation"} and {part.split for part in suite.parts} == {"test"}
    assert [part._replace(split="test") for part in drawn.parts] == list(suite.parts)
