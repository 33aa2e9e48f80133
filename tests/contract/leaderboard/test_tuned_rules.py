"""Every rule with parameters is tuned with the same budget, what a study says is what the system plays, and both ends of a range play."""

from importlib.resources import files
from itertools import chain
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from pydantic import ValidationError

from vcgym.agents.sweeps.search import Domain
from vcgym.baselines.configured import rule_from
from vcgym.baselines.rule import Control, allocate, require_rule
from vcgym.leaderboard.evaluation.cost import TUNED
from vcgym.leaderboard.sending.rollout import Sender
from vcgym.leaderboard.tuning.tunable import as_yaml, short_hash, space_of, target, values_of, with_values
from vcgym.scripts.senders import load_senders
from vcgym.scripts.systems import ORACLE, load_systems
from vcgym.scripts.tune import load_spaces

SPACES = load_spaces()
SYSTEMS: dict[str, Any] = {**load_systems(None), **load_senders(None)}
CONF = files("vcgym.conf")
STUDIES = sorted(file.name.removesuffix(".yaml") for file in CONF.joinpath("tuning").iterdir() if file.name.endswith(".yaml"))


def study(name):
    return yaml.safe_load(CONF.joinpath("tuning", f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def config():
    with initialize_config_module("vcgym.conf", version_base="1.3"):
        yield instantiate(compose("tune"), _convert_="all")


def grounds(config):
    """What is tuned, and on what: names of systems, the ground and the trials."""
    of_senders = [(config.sending.senders, ground, config.sending.trials) for ground in config.sending.grounds()]
    return [(config.systems, config.ground(), config.trials), *of_senders]


def ends(domain):
    if domain.choices:
        return domain.choices
    return [int(end) if domain.whole else end for end in (domain.low, domain.high)]


def rules(system):
    return [rule for rule in system if hasattr(rule, "_fields") and rule._fields]


def test_every_rule_with_parameters_that_is_ranked_is_tuned(config):
    ranked = {type(rule) for name, system in SYSTEMS.items() if not name.startswith(ORACLE) for rule in rules(system)}
    tuned = [rule for name in (*config.systems, *config.sending.senders) for rule in rules(SYSTEMS[name])]
    assert ranked <= {type(rule) for rule in tuned}
    assert {target(rule) for rule in tuned} == SPACES.keys()


@pytest.mark.parametrize("name", sorted({study(name)["system"] for name in STUDIES}))
def test_both_ends_of_each_range_are_allowed(name):
    system = SYSTEMS[name]
    for parameter, domain in space_of(system, SPACES).items():
        for value in ends(domain):
            changed = with_values(system, {parameter: value})
            assert values_of(changed, [parameter]) == {parameter: pytest.approx(value, rel=5e-4)}
            if isinstance(changed, Sender):
                require_rule("order", changed.order, Control.ORDER)
                assert allocate(changed.rate, 1, 1) is not None
            else:
                assert [allocate(rule, 1, 5) is not None for rule in changed] == [True, True]


def test_each_study_has_the_budget_of_the_configuration_and_there_is_one_for_each_system(config):
    expected = {ground.name(name) + TUNED: (name, ground, trials) for names, ground, trials in grounds(config) for name in names}
    assert sorted(expected) == STUDIES
    for study_name, (name, ground, trials) in expected.items():
        told = study(study_name)
        assert told["system"] == name
        assert told["budget"] == {"trials": trials, **ground.spent(trials), "seed": config.seed}
        assert {parameter: Domain(**domain) for parameter, domain in told["space"].items()} == space_of(SYSTEMS[name], SPACES)
        assert told["train"][f"{ground.metric}_tuned"] >= told["train"][f"{ground.metric}_printed"]


@pytest.mark.parametrize("name", STUDIES)
def test_a_tuned_system_plays_the_values_of_its_study(name):
    told = study(name)
    if told["tuned"] == told["printed"]:
        assert name not in SYSTEMS
        return
    printed = SYSTEMS[told["system"]]
    assert told["hash"] == short_hash(SYSTEMS[name])
    assert values_of(printed, told["printed"]) == told["printed"]
    assert SYSTEMS[name] == with_values(printed, told["tuned"])


def test_no_tuned_system_is_without_a_study():
    assert {name for name in SYSTEMS if name.endswith(TUNED)} <= set(STUDIES)


@pytest.mark.parametrize("name", ["VIA5-WM", "VCR5D-WM", "GRD-WMR", "DRT-FIX", "SBPN2-E", "GCC-WEBRTC-NOPRE"])
def test_a_system_written_as_yaml_is_the_same_system(name):
    system = SYSTEMS[name]
    written = yaml.safe_load(as_yaml(system, "A comment."))
    again = {control: rule_from(rule, control) if isinstance(rule, dict) else rule for control, rule in written.items()}
    assert type(system)(**again) == system


@pytest.mark.parametrize(
    "said", [{}, {"low": 2.0, "high": 1.0}, {"low": 0.0, "high": 1.0, "log": True}, {"choices": [1]}, {"lowest": 1.0}], ids=str
)
def test_a_domain_that_says_nothing_is_refused(said):
    with pytest.raises(ValidationError, match=r"allowed|at least 2|Extra inputs"):
        Domain(**said)


def test_a_parameter_that_no_rule_has_is_refused():
    with pytest.raises(ValueError, match=r"FixedLag has no parameter 'lagg_ms'; allowed: lag_ms"):
        with_values(SYSTEMS["DRT-FIX"], {"receiver.lagg_ms": 1.0})


def test_draws_stay_within_their_domain():
    domains = [domain for space in SPACES.values() for domain in space.values()]
    for domain in domains:
        drawn = [domain.drawn().sample() for _ in range(50)]
        assert all(value in domain.choices if domain.choices else domain.low <= value <= domain.high for value in drawn)
    assert len(list(chain.from_iterable(SPACES.values()))) == len(domains)
