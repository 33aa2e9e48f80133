"""Rules declared as one class: state, start, ranges and methods (`vcgym.baselines.declared`)."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from vcgym.baselines.rule import Control, Rows, Table, allocate, decide, init, record, rule, start, update


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
