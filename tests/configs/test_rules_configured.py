"""Rules as mappings: they round-trip, and anything else is rejected in one line that names the field."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from vcgym.baselines import configured
from vcgym.baselines.configured import mapping_of, rule_from
from vcgym.baselines.controls.control import added_stages
from vcgym.baselines.order.sbpn import Discard, Sbpn
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.online import VCRouteOnline
from vcgym.baselines.path.vcroute.vcroute import Sample, VCRoute
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.held_lag import HeldLag
from vcgym.baselines.playout.wmjitter import Edge, Memory, WMJitter
from vcgym.envs.call.rewards.emodel import Rating
from vcgym.predictors.published import shipped_network

VCROUTE = "vcgym.baselines.path.vcroute.vcroute.VCRoute"
WMJITTER = "vcgym.baselines.playout.wmjitter.WMJitter"
RULES = [
    WMJitter(edge=Edge.LOWER, memory=Memory.WINDOW, update_on_late=True),
    VCRoute(topk=TopK(choice=Choice.BEST_FIVE), sample=Sample.MEAN),
    VCRouteOnline(step=0.5, route=VCRoute(predictor=shipped_network())),
    Sbpn(keep_last=False, discard=Discard.WHEN_FULL),
    Rating(),
]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_rule_is_read_back_with_its_types(rule, complete):
    again = rule_from(mapping_of(rule, complete), "rule")
    assert again == rule
    assert [type(value) for value in again] == [type(value) for value in rule]


def test_choices_go_by_name_or_number_and_rules_within_by_their_parameters():
    named = rule_from({"_target_": VCROUTE, "sample": "mean", "topk": {"choice": "best_five", "refresh_s": 2}}, "path")
    assert named == VCRoute(sample=Sample.MEAN, topk=TopK(Choice.BEST_FIVE, 2.0))
    assert isinstance(named.topk.refresh_s, float)
    numbered = rule_from({"_target_": WMJITTER, "memory": 1, "update_on_late": 1}, "playout")
    assert numbered.memory is Memory.WINDOW
    assert numbered.update_on_late is True


def test_a_class_of_the_project_needs_no_module():
    short = {"_target_": "VCRoute", "predictor": "shipped_network"}
    assert rule_from(short, "path") == rule_from({"_target_": VCROUTE, "predictor": shipped_network()}, "path")
    assert rule_from("WMJitter", "playout") == rule_from({"_target_": "WMJitter"}, "playout") == WMJitter()
    held = rule_from({"_target_": "HeldLag", "lag": "AdaptiveEwma"}, "playout")
    assert held == HeldLag(lag=AdaptiveEwma()) == rule_from(mapping_of(held), "playout")


def test_no_two_classes_of_the_project_have_one_name():
    homes = [Path(configured.__file__).parent, *(Path(str(stage.file("rules"))) for stage in added_stages())]
    sources = [file.read_text() for home in homes for file in home.rglob("*.py")]
    names = [name for source in sources for name in re.findall(r"^class (\w+)\(", source, re.MULTILINE)]
    assert len(names) > 90 and len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("wmjitter", "playout = 'wmjitter': allowed are mappings"),
        ({"quantile": 0.5}, "playout = .*: allowed are mappings"),
        ({"_target_": "os.system", "command": "true"}, "_target_ is 'os.system'; allowed: a class of vcgym.baselines"),
        ({"_target_": "vcgym.predictors.published.load_network"}, "not a class of parameters"),
        ({"_target_": WMJITTER.replace("WMJitter", "WMFlutter")}, "WMFlutter'?, which is not there"),
        ({"_target_": WMJITTER, "quantil": 0.5}, "WMJitter has no parameter 'quantil'; allowed: bucket_ms, quantile"),
        ({"_target_": WMJITTER, "quantile": "high"}, "playout.quantile is 'high'; allowed is a value of float"),
        ({"_target_": WMJITTER, "start_weight": 1.5}, "playout.start_weight is 1.5; allowed is a value of int"),
        ({"_target_": WMJITTER, "update_on_late": 2}, "playout.update_on_late is 2; allowed is a value of bool"),
        ({"_target_": WMJITTER, "edge": "middle"}, "playout.edge is 'middle'; allowed: lower, upper"),
        ({"_target_": WMJITTER, "edge": True}, "playout.edge is True; allowed: lower, upper"),
        ({"_target_": VCROUTE, "topk": {"choices": 1}}, "playout.topk: TopK has no parameter 'choices'; allowed: choice, refresh_s"),
        ({"_target_": "vcgym.baselines.playout.fixed_lag.FixedLag"}, "FixedLag lacks its parameter 'lag_ms'"),
    ],
    ids=str,
)
def test_what_is_no_rule_is_refused_in_one_line(written, message):
    with pytest.raises(ValueError, match=message) as refused:
        rule_from(written, "playout")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("of", ["vcgym.rules", "vcgym.features", "vcgym.rewards"])
def test_a_plug_in_goes_by_the_name_of_its_entry_point_or_by_its_class(monkeypatch, of):
    offered = EntryPoint("my_rule", f"{RULES[0].__module__}:WMJitter", of)
    monkeypatch.setattr(configured, "plugins_of", lambda group: [offered] if group == of else [])
    assert rule_from({"_target_": "my_rule", "quantile": 0.5}, "playout") == WMJitter(quantile=0.5)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1.5, True, "x" * 20_000, [1], {}, None, 10**400])
@pytest.mark.parametrize("field", ["alpha", "memory", "wait_us"])
def test_a_parameter_of_the_wrong_kind_is_refused_in_a_short_line(field, value):
    target = "vcgym.baselines.playout.wmjitter.WMJitter"
    try:
        rule_from({"_target_": target, field: value}, "playout")
    except ValueError as error:
        assert len(str(error)) < 300 and "\n" not in str(error)


@pytest.mark.parametrize("target", ["x" * 17_000, "vcgym.baselines." + "x" * 17_000, "vcgym.baselines.path.x", 7, None, ["a" * 9_000]])
def test_a_class_that_is_none_is_refused_in_a_short_line(target):
    with pytest.raises(ValueError, match="_target_") as caught:
        rule_from({"_target_": target}, "playout")
    assert len(str(caught.value)) < 400
