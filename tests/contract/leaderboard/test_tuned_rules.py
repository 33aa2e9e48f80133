"""Every rule with parameters is tuned with the same budget, systems match their studies, and both ends of each range are playable."""

import json
from importlib.resources import files
from itertools import chain

import pytest
from pydantic import ValidationError

from vcgym.agents.sweeps.search import Domain
from vcgym.baselines.configured import target
from vcgym.baselines.rule import allocate
from vcgym.baselines.system_files import system_names, tuned_names
from vcgym.baselines.systems import ORACLE, TUNED, build_system, load_study, load_system, tuning_trials
from vcgym.leaderboard.evaluation.bars import beats_elsewhere
from vcgym.leaderboard.tuning.tunable import as_data, rules_within, space_of, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import drawn
from vcgym.leaderboard.tuning.tune_config import TuneConfig
from vcgym.leaderboard.tuning.tune_pairs import Pairs, pair_judge, pair_task, tuned_name
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError, canonical_sha256
from vcgym.scripts.tune import load_spaces, tasks

SPACES = load_spaces()
SYSTEMS = {name: load_system(name) for name in system_names()}
STUDIES = tuned_names()
PAIRS = [name for name in STUDIES if "+" in name]
ALONE = [name for name in STUDIES if "+" not in name]


@pytest.fixture(scope="module")
def config():
    """The configuration with the data of every kind, as it was tuned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vcgym.leaderboard.tuning.tune_calls.has_data", lambda scenario: True)
        yield TuneConfig()


def within(narrow, wide):
    return narrow.choices == wide.choices if wide.choices else wide.low <= narrow.low < narrow.high <= wide.high


def ends(domain):
    if domain.choices:
        return domain.choices
    return [int(end) if domain.whole else end for end in (domain.low, domain.high)]


def rules(system):
    return [rule for rule in system.rules.values() if rule._fields]


def test_every_rule_with_parameters_that_is_ranked_is_tuned(config):
    """Rules of conferences are not: `vcgym tune` plays calls alone."""
    calls = [(name, system) for name, system in SYSTEMS.items() if system.plays != "conference"]
    hand_written = [system for name, system in calls if not name.startswith(ORACLE) and not system.is_learned]
    ranked = {type(rule) for system in hand_written for rule in rules(system)}
    systems = [*(SYSTEMS[name] for name in (*config.systems, *config.sending.senders)), *Pairs.of(config.pairs).systems.values()]
    tuned = [rule for system in systems for _, rule in rules_within(system) if rule._fields]
    assert ranked <= {type(rule) for rule in tuned}
    assert {target(rule) for rule in tuned} == SPACES.keys()


@pytest.mark.parametrize("name", [*sorted({load_study(name)["system"] for name in ALONE}), "GRD-WMH", "GRD-EWMAH", "GRD-QTLH"])
def test_both_ends_of_each_range_are_allowed(name):
    system = SYSTEMS[name]
    for parameter, domain in space_of(system, SPACES).items():
        for value in ends(domain):
            changed = with_values(system, {parameter: value})
            assert values_of(changed, [parameter]) == {parameter: pytest.approx(value, rel=5e-4)}
            assert build_system("changed", as_data(changed)) == changed
            assert all(allocate(rule, 1, 5) is not None for name, rule in changed.rules.items() if name != "order")


def test_there_is_a_study_for_each_system_with_the_budget_of_the_configuration_or_one_on_a_single_scenario(config):
    """A form that was searched on a single scenario is judged on all others."""
    expected = {task.name(name) + TUNED: (name, task, trials) for names, task, trials in tasks(config) for name in names}
    assert sorted(expected) == ALONE
    for study_name in ALONE:
        (name, task, trials), study = expected[study_name], load_study(study_name)
        budget = study["budget"]
        assert study["system"] == name and tuning_trials(study_name) == budget["trials"] >= trials
        space = space_of(SYSTEMS[name], SPACES)  # a range may have been widened since
        assert study["space"].keys() == space.keys()
        assert all(within(Domain(**domain), space[parameter]) for parameter, domain in study["space"].items())
        judged_on = study["left_out"][task.metric].keys()
        if "kinds" in budget:
            assert budget == {"trials": trials, **task.spent(trials), "seed": config.seed}
            assert judged_on == set(task.kinds.names)
        else:
            tuned_on = " ".join(budget[key] for key in ("scenario", "mode") if key in budget)
            assert len(judged_on) > 1 and not any(f"{kind} ".startswith(f"{tuned_on} ") for kind in judged_on)


@pytest.mark.parametrize("name", STUDIES)
def test_a_form_beats_its_published_values_only_with_an_interval_above_0(name):
    found = load_study(name)["left_out"]
    assert found["low"] <= found["gain"] <= found["high"]
    assert found["beats_published"] == beats_elsewhere(name) and (found["low"] >= 0.0 if beats_elsewhere(name) else found["low"] <= 0.0)


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_all_pairs_were_tuned_with_the_budget_of_the_configuration(config, mode):
    """Of each mode: every rule alone, then the best pairs; those left have files of their own."""
    one = next(one for one in config.pairs.modes if one.mode == mode)
    here, rounds = pair_task(config, one), one.rounds
    table = json.loads(files("vcgym.data").joinpath(f"pairs-{config.pairs.scenario}-{mode}.json").read_text(encoding="utf-8"))
    pairs, budget = Pairs.of(config.pairs).systems, table["study"]["budget"]
    assert table["card"]["sha256"] == canonical_sha256({key: value for key, value in table.items() if key != "card"})
    assert budget["rounds"] == [one.model_dump() for one in rounds] and budget["validation_worlds"] == here.validation_worlds
    assert table["expected"].keys() == pairs.keys()
    assert set(list(table["expected"])[: rounds[0].left]) == table["pairs"].keys()
    left = [name for name, found in table["pairs"].items() if "validation" in found]
    assert len(left) == rounds[-1].left
    assert table["pairs"][table["best"]]["validation"] == max(table["pairs"][name]["validation"] for name in left)
    for name in left:
        study = load_study(tuned_name(name, mode))
        assert study["system"] == name and study["tuned"] == table["pairs"][name]["values"]
        assert study["budget"]["trials"] == sum(one.trials for one in rounds) == tuning_trials(tuned_name(name, mode)) >= 256
        assert {key: Domain(**domain) for key, domain in study["space"].items()} == space_of(pairs[name], SPACES)
        judge = pair_judge(config, one).kinds.names
        assert study["left_out"]["r"].keys() == set(judge) and here.kinds.names[0] not in judge
    assert {tuned_name(name, mode) for name in left} <= set(PAIRS)


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_tuning_worlds_leave_out_no_pair_and_no_stratum(config, mode):
    one = next(one for one in config.pairs.modes if one.mode == mode)
    task = pair_task(config, one)
    scenario = Scenario(config.pairs.scenario, mode, task.packets)
    for split, worlds in (("train", min(each.worlds for each in one.rounds)), ("validation", task.validation_worlds)):
        draws = drawn(scenario, split, worlds)
        assert {draw.pair for draw in draws} == set(scenario.pairs(split))
        assert {draw.stratum for draw in draws} == set(scenario.strata)


@pytest.mark.parametrize("name", STUDIES)
def test_a_tuned_form_plays_the_values_of_its_study(config, name):
    study = load_study(name)
    published = Pairs.of(config.pairs).systems[study["system"]] if name in PAIRS else SYSTEMS[study["system"]]
    assert values_of(published, study["published"]) == study["published"]
    assert (name in SYSTEMS) == (study["tuned"] != study["published"])
    assert name not in SYSTEMS or SYSTEMS[name] == with_values(published, study["tuned"])


def test_no_tuned_system_is_without_a_study():
    assert {name for name in SYSTEMS if name.endswith(TUNED)} <= set(STUDIES)
    assert tuning_trials("DRT-WM") == 0


def test_a_changed_study_is_refused(monkeypatch, tmp_path):
    text = files("vcgym.data").joinpath("tuned", "DRT-WM-tuned.json").read_text(encoding="utf-8")
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "X-tuned.json").write_text(text.replace('"trials": 60', '"trials": 61'), encoding="utf-8")
    monkeypatch.setattr("vcgym.baselines.systems.tuned_names", lambda: ("X-tuned",))
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    with pytest.raises(DataError, match=r"X-tuned\.json: sha256"):
        load_study("X-tuned")


@pytest.mark.parametrize("name", ["VIA5-WM", "VCR5D-WM", "GRD-WMR", "DRT-FIX", "SBPN2-E", "GCC-WEBRTC-NOPRE", "VCR-WM"])
def test_a_system_written_as_data_is_the_same_system(name):
    assert build_system(name, as_data(SYSTEMS[name])) == SYSTEMS[name]


@pytest.mark.parametrize(
    "said", [{}, {"low": 2.0, "high": 1.0}, {"low": 0.0, "high": 1.0, "log": True}, {"choices": [1]}, {"lowest": 1.0}], ids=str
)
def test_a_domain_that_says_nothing_is_refused(said):
    with pytest.raises(ValidationError, match=r"allowed|at least 2|Extra inputs"):
        Domain(**said)


def test_a_parameter_that_no_rule_has_is_refused():
    with pytest.raises(ValueError, match=r"FixedLag has no parameter 'lagg_ms'; allowed: lag_ms"):
        with_values(SYSTEMS["DRT-FIX"], {"playout.lagg_ms": 1.0})


def test_draws_stay_within_their_domain():
    for domain in chain.from_iterable(space.values() for space in SPACES.values()):
        drawn = [domain.to_ray().sample() for _ in range(50)]
        assert all(value in domain.choices if domain.choices else domain.low <= value <= domain.high for value in drawn)
