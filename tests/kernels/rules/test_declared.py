"""Rules declared as one class: state, start, ranges and methods (`vcgym.baselines.declared`)."""

import importlib
import pkgutil
from typing import Annotated, NamedTuple, get_origin

import numpy as np
import pytest
from numpy.typing import NDArray

import vcgym.baselines
from vcgym.baselines.path.top_k import TopK
from vcgym.baselines.path.vcroute.online import VCRouteOnline
from vcgym.baselines.path.vcroute.oracle import OracleVCRoute
from vcgym.baselines.path.vcroute.vcroute import RewardSource, VCRoute
from vcgym.baselines.path.vcroute.version_2 import VCRouteV2
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.held_lag import HeldLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.chime import ChimeRed
from vcgym.baselines.protection.fixed import FixedProtection
from vcgym.baselines.rule import Control, Rows, Table, allocate, decide, init, record, rule, rules_of, start, update

for module in pkgutil.walk_packages(vcgym.baselines.__path__, "vcgym.baselines."):
    importlib.import_module(module.name)  # each registers its rules


@record
class Inner:
    place: int = -1
    gaps: NDArray[np.int32] = np.array([3, 4], np.int32)


@record
class Outer:
    key: np.uint64 = np.uint64(7)
    delay_ms: float = 1
    inner: Inner = Inner()


@rule(Control.PATH, call=Outer, arms=Rows(Inner), window=Rows(np.int16, lambda params, paths: params.window))
class Whole(NamedTuple):
    window: Annotated[int, (1, 9)] = 3
    gain: Annotated[float, (0.0, 1.0)] = 0.5

    def init(self, call, arms, window, start, key):
        call.delay_ms = start.mean_ms[0]

    def update(self, call, arms, window, record):
        call.inner.gaps[1] += record
        arms[record].place = record
        window[-1] = 5

    def decide(self, call, arms, window, now_us):
        return arms[1].place + call.inner.place + now_us


def started(rows):
    state = allocate(Whole(), rows, 2)
    start(Whole(), state, np.ones(rows, bool), np.full((rows, 2, 3), 8.0), np.zeros(rows, np.uint64))
    return state


def test_state_has_the_initial_values_and_a_start_restores_them():
    state = started(2)
    before = [part.copy() for part in state]
    assert before[0].inner.gaps.tolist() == [[3, 4], [3, 4]]
    assert before[0].key.tolist() == [7, 7] and before[0].delay_ms.tolist() == [8.0, 8.0]
    assert before[1].place.tolist() == [[-1, -1], [-1, -1]] and before[2].shape == (2, 3)
    update(Whole(), state, 1, 1)
    assert state.call[1].inner.gaps.tolist() == [3, 5] and state.arms.place.tolist() == [[-1, -1], [-1, 1]]
    assert state.window.tolist() == [[0, 0, 0], [0, 0, 5]] and decide(Whole(), state, 1, 10) == 10
    start(Whole(), state, np.array([False, True]), np.full((2, 2, 3), 8.0), np.zeros(2, np.uint64))
    assert all((now == then).all() for now, then in zip(state, before, strict=True))


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        (Whole(window=0), ValueError, r"Whole.window is 0; allowed range is \[1, 9\]"),
        (Whole(window=2.5), TypeError, "allowed are whole numbers"),
        (Whole(gain=float("nan")), ValueError, "Whole.gain is nan"),
        (Whole(gain="much"), TypeError, "Whole.gain is 'much', a str"),
    ],
)
def test_parameters_out_of_range_are_refused(params, error, words):
    with pytest.raises(error, match=words):
        allocate(params, 1, 1)


RULES = [cls for control in Control for cls in rules_of(control) if cls.__module__.startswith("vcgym.baselines.")]
BOUNDED = [(cls, field, kind) for cls in RULES for field, kind in cls.__annotations__.items() if get_origin(kind) is Annotated]


@pytest.mark.parametrize(("cls", "field", "kind"), BOUNDED, ids=lambda one: getattr(one, "__name__", None))
def test_every_parameter_of_every_rule_keeps_to_its_range(cls, field, kind):
    whole = cls(**{name: 1 for name in cls._fields if name not in cls._field_defaults})
    low, high = kind.__metadata__[0]
    outside = (low - 1, high + 1) if kind.__origin__ is int else (np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.nan)
    for value in (*(one for one in outside if one != np.inf), "1"):
        with pytest.raises((ValueError, TypeError), match=rf"{cls.__name__}\.{field} is "):
            allocate(whole._replace(**{field: value}), 1, 3)


DELAYED = VCRoute(reward=RewardSource.DELAYED_ACTUAL)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (FixedProtection(repair=3, covers=2), r"FixedProtection.covers is 2; allowed range is \[3, 62\]"),
        (ChimeRed(one=0.2, two=0.1), r"ChimeRed.two is 0.1; allowed range is \[0.2, 1.0\]"),
        (NetEqTarget(min_target_ms=20.0, max_target_ms=10.0), r"NetEqTarget.max_target_ms is 10.0; allowed range is \[20.0"),
        (WMJitter(update_on_late=2), r"WMJitter.update_on_late is 2; allowed: True, False"),
        (VCRoute(sample=2), r"VCRoute.sample is 2; allowed: Sample.PREDICTIVE, Sample.MEAN"),
        (VCRouteV2(route=VCRoute(sample=2)), r"VCRoute.sample is 2"),
        (Via(topk=TopK(refresh_s=-1.0)), r"TopK.refresh_s is -1.0; allowed range is \[0.0, 1000000.0\]"),
        (VCRoute(topk=TopK(choice=3)), r"TopK.choice is 3; allowed: Choice.INTERVAL, Choice.BEST_FIVE, Choice.PUBLISHED"),
        (VCRoute(loss_reward_ms=500.0), r"VCRoute.loss_reward_ms is 500.0; allowed range is \[0.0, 0.0\]"),
        (DELAYED._replace(loss_after_packets=600), r"VCRoute.loss_after_packets is 600; allowed range is \[1, 511\]"),
        (OracleVCRoute(route=DELAYED), r"VCRoute.reward is .*DELAYED_ACTUAL.*; allowed here: .*PREDICTED"),
        (VCRouteOnline(route=DELAYED), r"VCRoute.reward is .*DELAYED_ACTUAL"),
        (HeldLag(CountTarget(60.0)), r"lag = CountTarget\(target_ms=60.0\): allowed are rules that decide a lag, not the target"),
        (HeldLag(FixedLag(-1.0)), r"FixedLag.lag_ms is -1.0"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        allocate(params, 1, 3)


def test_wrong_arguments_of_a_method_are_refused():
    with pytest.raises(TypeError, match=r"Wrong.decide\(self, state, now_us\): allowed is \(self, call, now_us\)"):

        @rule(Control.PATH, call=Outer)
        class Wrong(NamedTuple):
            def decide(self, state, now_us):
                return 0


def test_a_rule_without_state_or_init_needs_none():
    @rule(Control.PATH, learns=False)
    class First(NamedTuple):
        def decide(self, now_us):
            return 0

    state = allocate(First(), 2, 2)
    assert state == ()
    init(First(), state, 0, None, 0)
    assert decide(First(), state, 1, 5) == 0


def test_a_table_of_the_parameters_is_one_for_all_sessions():
    @rule(Control.PATH, squares=Table(lambda params: np.arange(params.paths) ** 2), call=Inner)
    class Square(NamedTuple):
        paths: Annotated[int, (1, 9)] = 4

        def decide(self, squares, call, now_us):
            return squares[now_us] + call.place

    state = allocate(Square(), 2, 3)
    init(Square(), state, 1, None, 0)
    assert state.squares.tolist() == [0, 1, 4, 9] and decide(Square(), state, 1, 3) == 8


def test_a_field_that_an_attribute_of_numpy_hides_is_refused():
    with pytest.raises(TypeError, match=r"field size of Sized: allowed are names that no attribute of numpy's records has"):

        @record
        class Sized:
            size: int = 0
