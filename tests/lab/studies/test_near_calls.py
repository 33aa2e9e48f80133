"""Ways to count calls that are near each other: blocks of two calls hold where what is measured is remembered for a call."""

import pytest

from lab.shipped.coverage import remembered
from lab.studies.near_calls import simulate, simulate_series


@pytest.mark.parametrize("trace_s", [120.0, 240.0])
def test_blocks_of_two_calls_hold_over_a_memory_of_a_call_and_those_of_one_do_not(trace_s):
    found = simulate(remembered, trace_s, 1.0, suites=300)
    assert found["blocks of 2 calls"][0] >= 0.93 > found["blocks of 1 call"][0]


def test_whole_series_hold_over_any_memory_and_are_wider():
    blocks, whole = simulate_series(240.0, 3.0, suites=150).values()
    assert whole[0] >= 0.9 > blocks[0] and whole[1] > blocks[1]
