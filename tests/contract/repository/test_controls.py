"""The table of controls: each row has what the table demands, and no other module lists the controls by hand."""

import ast
from pathlib import Path

import numpy as np
import pytest

import vcgym.envs as envs
from vcgym.baselines.controls.control import BOTTLENECK, CONTROLS, PATHS, PROTECTED, Control, LogScale, OneOf, controls_of
from vcgym.baselines.from_agent import AGENT, REMOTE, FromAgent, in_place_of
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rule import allocate, facts_of, rule, rules_of
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import System, build_system, load_system
from vcgym.envs.call.batch import LOCATIONS
from vcgym.envs.call.paths.protecting import ProtectedCall
from vcgym.envs.call.paths.state import ANSWER, CallState
from vcgym.envs.call.sender.effects import Schedulers
from vcgym.envs.call.sender.onto_paths import Commanded
from vcgym.envs.environments.vector.actions import FORMS, LEVELS, action_space, decode, options_of
from vcgym.envs.environments.vector.settings import arguments_of
from vcgym.leaderboard.results.files import ACTIONS
from vcgym.network.playout.receiver import COUNT

HOME = Path(__file__).parents[3]
ROOMS = ("agents", "baselines", "envs", "leaderboard", "live", "scripts")
rows = pytest.mark.parametrize("control", CONTROLS)


def test_every_control_has_one_row_in_the_order_of_the_names():
    assert list(CONTROLS) == [*Control, "trees"]
    assert sorted(control for part in (PATHS, BOTTLENECK, PROTECTED) for control in controls_of(part)) == sorted(Control)
    assert [row.stream for row in CONTROLS.values()] == [0, 1, 2, 3, 5, 4]
    assert {row.location for row in CONTROLS.values()} <= LOCATIONS.keys()


@rows
def test_a_control_has_rules_and_systems(control):
    systems = [load_system(name) for name in system_names()]
    assert any(control in system.rules for system in systems)
    assert {facts_of(type(system.rules[control])).control for system in systems if control in system.rules} == {control}
    assert rules_of(control)
    assert getattr(systems[0], control) is systems[0].rules.get(control)


@pytest.mark.parametrize("control", [control for control, row in CONTROLS.items() if row.decision])
def test_a_control_that_an_agent_sets_has_a_ring_an_answer_an_argument_and_actions(control):
    row = CONTROLS[control]
    kind = {PATHS: CallState, BOTTLENECK: Commanded, PROTECTED: ProtectedCall}[row.part]
    state = kind.dtype
    answer = ANSWER.names if row.part == PATHS else state.names
    assert {"written", "latest", "in_force", "effective_us"} <= set(state[row.ring].names)
    assert str(control) in answer or f"answer_{control}" in answer
    assert (arguments_of(envs.Call.vector_class)[control].default is None) == row.required
    if isinstance(row.decision, LogScale):
        assert 0 <= row.decision.low <= row.decision.high <= row.decision.exact_max
        assert all(row.decision.low / 2 <= value <= row.decision.high for value in row.decision.relative)
    for form in FORMS:
        options = options_of([control], 5)
        space = action_space(form, options)
        space.seed(0)
        decided = decode(form, options, space.sample().reshape(1, -1), np.array([[4, 2]]) if form == "relative" else None)
        assert list(decided) == [control] and decided[control].shape == (1,)
    if row.log:
        assert ACTIONS.schema.field(row.log).type.value_type == "int64"


@rows
def test_one_class_stands_in_for_an_agent_of_any_control(control):
    row = CONTROLS[control]
    for location, origin in ((row.location, AGENT), (next(name for name in LOCATIONS if name != row.location), REMOTE)):
        placeholder = in_place_of(control, location)
        assert type(placeholder) is FromAgent and placeholder.origin == origin
        assert allocate(placeholder, 3, 2).rows.shape == (3,)


def test_the_options_of_an_order_are_the_fields_of_its_effect():
    order = CONTROLS[Control.ORDER].decision
    assert isinstance(order, OneOf) and order.names == Schedulers._fields


def test_actions_of_several_controls_have_a_column_each_in_the_order_of_the_table():
    options = options_of([Control.ORDER, Control.PLAYOUT, Control.PATH], 5)
    assert list(options) == ["path", "playout", "order"]
    assert action_space("discrete", options).nvec.tolist() == [5, LEVELS, 3]


def listed(tree):
    """The largest number of controls in one list, tuple, set, mapping or comparison of a module, as names or as members."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            inside = node.keys if isinstance(node, ast.Dict) else node.elts
            members = {one.attr.lower() for one in inside if isinstance(one, ast.Attribute) and getattr(one.value, "id", "") == "Control"}
            words = {one.value for one in inside if isinstance(one, ast.Constant) and one.value in CONTROLS}
            found = max(found, len(members | words))
    return found


def test_no_other_module_lists_the_controls():
    modules = {path.relative_to(HOME).as_posix(): path for room in ROOMS for path in sorted((HOME / room).rglob("*.py"))}
    lists = {name for name, path in modules.items() if listed(ast.parse(path.read_text(encoding="utf-8"))) > 2}
    assert not {name for name in lists if not name.startswith("baselines/controls/")}


def test_the_check_finds_a_list():
    assert listed(ast.parse('ORDER = ("path", "playout", "rate")')) == 3
    assert listed(ast.parse("{Control.PATH: 1, Control.RATE: 2, Control.ORDER: 3}")) == 3


def test_a_control_by_another_word_or_by_two_rules_is_refused():
    with pytest.raises(ValueError, match=r"router = Direct\(.*: allowed are rules of that control, one of path, playout"):
        System(router=Direct(), playout=WMJitter())
    with pytest.raises(ValueError, match=r"mine\.yaml: unknown keys \['router'\]; allowed: path, playout"):
        build_system("mine.yaml", {"router": {}})
    with pytest.raises(ValueError, match="allowed is one rule of each control"):
        System(Direct(), Direct())
    with pytest.raises(ValueError, match=r"path = WMJitter\(.*: allowed are rules of that control"):
        System(path=WMJitter())
    with pytest.raises(AttributeError, match="a system has no 'tone'; its controls are path, playout"):
        _ = System(Direct(), WMJitter()).tone


def test_a_system_is_changed_by_control():
    system = System(Direct(), WMJitter(), pacing=2.5)
    assert system.replace(playout=None).rules == {"path": Direct()}
    assert system.replace(is_local=True).replace(is_local=False) == system
    assert hash(system) == hash(System(WMJitter(), Direct(), pacing=2.5)) and system != system.replace(pacing=1.0)
    assert system.of(PATHS) == system.rules and system.of(BOTTLENECK) == {}


def test_only_playout_has_buffer_types():
    with pytest.raises(ValueError, match=r"buffer = \d of a rule of rate: allowed is WATERMARK"):
        rule(Control.RATE, buffer=COUNT)


def test_only_playout_learns_from_copies():
    with pytest.raises(ValueError, match="copies = True of a rule of rate: allowed is False"):
        rule(Control.RATE, copies=True)
