"""The running minimum over media time equals the recomputed minimum."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.window import WINDOW_US, allocate_window, clear_window, window_add, window_minimum

SENT_US = st.integers(0, 40).map(lambda k: 50_000 * k)


def _most_in_a_window(sent: list[int]) -> int:
    return max(sum(first <= other <= first + WINDOW_US for other in sent) for first in sent)


def _assert_minimum_after_each(packets: list[tuple[int, int]]) -> None:
    window = allocate_window(2, _most_in_a_window([sent for sent, _ in packets]))
    clear_window(window, 0)
    clear_window(window, 1)
    for count, (sent, value) in enumerate(packets, start=1):
        window_add(window, 1, sent, value)
        newest = max(sent for sent, _ in packets[:count])
        assert window_minimum(window, 1) == min(value for sent, value in packets[:count] if sent >= newest - WINDOW_US)
    assert window.ring[0].entries == 0


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5_000_000), st.integers(-6, 6)), min_size=1, max_size=50))
def test_minimum(packets: list[tuple[int, int]]) -> None:
    _assert_minimum_after_each(packets)


@settings(max_examples=200)
@given(st.lists(st.tuples(SENT_US, st.integers(-12, 12)), min_size=1, max_size=40), st.integers(0, 12))
def test_minimum_as_reordered_packets_leave_one_by_one(packets: list[tuple[int, int]], first_leap: int) -> None:
    """Values rise with sent time, so most entries are kept; then the window moves over them in small steps."""
    rising = [(sent, sent // 20_000 + value) for sent, value in packets]
    leaving = [(WINDOW_US + 50_000 * step, 1_000 + step) for step in range(first_leap, 41)]
    _assert_minimum_after_each(rising + leaving)


@pytest.mark.parametrize(("last_sent_us", "expected"), [(2_000_000, 3), (2_000_001, 5)])
def test_the_edge_of_the_window_belongs_to_it(last_sent_us: int, expected: int) -> None:
    window = allocate_window(1, 3)
    clear_window(window, 0)
    for sent_us, value_us in ((0, 3), (last_sent_us, 9), (1_000_000, 5)):
        window_add(window, 0, sent_us, value_us)
    assert window_minimum(window, 0) == expected


def test_a_cleared_window_remembers_nothing() -> None:
    window = allocate_window(1, 2)
    clear_window(window, 0)
    window_add(window, 0, 4_000_000, 1)
    clear_window(window, 0)
    window_add(window, 0, 0, 7)
    assert window_minimum(window, 0) == 7
