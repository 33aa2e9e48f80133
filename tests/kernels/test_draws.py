"""A draw that is left out lies above the limit; every other one is the plain draw."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.baselines.draws import _CELLS, _LOWEST_SD, FARTHEST_SD, draw_below
from vcgym.network.rng import normal, normal_quantile


@given(
    limit_ms=st.one_of(st.floats(-500.0, 500.0), st.just(math.inf)),
    mean_ms=st.floats(-300.0, 300.0),
    sd_ms=st.floats(0.001, 100.0),
    key=st.integers(0, 2**64 - 1).map(np.uint64),
    counter=st.integers(0, 2**40),
)
def test_only_draws_above_the_limit_are_left_out(limit_ms, mean_ms, sd_ms, key, counter):
    plain_ms = mean_ms + sd_ms * normal(key, counter)
    seen_ms = draw_below(limit_ms, mean_ms, sd_ms, key, counter)
    assert seen_ms == plain_ms or (seen_ms == math.inf and plain_ms >= limit_ms)
    assert limit_ms < math.inf or seen_ms == plain_ms


@pytest.mark.parametrize("cell", range(_CELLS))
def test_no_draw_of_a_cell_lies_below_its_bound(cell):
    edges = np.linspace(cell / _CELLS, (cell + 1) / _CELLS, 500, endpoint=False)
    assert min(normal_quantile(p + 2.0**-54) for p in edges) > _LOWEST_SD[cell]


def test_the_smallest_draw_there_is():
    assert normal_quantile(2.0**-54) > -FARTHEST_SD
