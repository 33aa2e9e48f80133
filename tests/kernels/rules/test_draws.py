"""Skipped samples are above the limit; every other one equals the plain sample."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcgym.baselines.path.draws import FARTHEST_SD, draw_below, upper_bound
from vcgym.baselines.path.vcroute.screening import MANY
from vcgym.baselines.path.vcroute.vcroute import VCRoute, learn, lowest_draw
from vcgym.baselines.records import path_history
from vcgym.baselines.rule import allocate, init
from vcgym.network.kernels.rng import bits64, normal, normal_quantile


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


@pytest.mark.parametrize(("mean_ms", "sd_ms"), [(0.0, 1.0), (120.0, 17.0), (1e6, 1e-3)])
def test_what_exceeds_the_bar_lies_above_the_limit(mean_ms, sd_ms):
    for limit_sd in np.linspace(-FARTHEST_SD, FARTHEST_SD, 2000):
        highest = int(upper_bound(mean_ms + limit_sd * sd_ms, mean_ms, sd_ms))
        if highest < 2**64 - 1:
            first_above = min(((highest + 1) >> 11) * 2.0**-53 + 2.0**-54, 1.0 - 2.0**-53)
            assert normal_quantile(first_above) > limit_sd
            assert abs(limit_sd) > 7.0 or normal_quantile(first_above) < limit_sd + 0.1  # and not by much


def test_the_smallest_draw_there_is():
    assert normal_quantile(2.0**-54) > -FARTHEST_SD


def key_of(bits):
    """The stream whose draw number 0 is these 64 bits: the inverse of SplitMix64's output function."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        bits ^= (bits >> shift) ^ (bits >> 2 * shift)
        bits = bits * pow(factor, -1, 1 << 64) % (1 << 64)
    bits ^= (bits >> 30) ^ (bits >> 60)
    return np.uint64(bits)


@given(st.integers(0, 2**64 - 1))
def test_every_draw_but_the_last_is_the_quantile_of_the_middle_of_its_step(bits):
    key = key_of(bits)
    assert bits64(key, 0) == bits
    middle = (bits >> 11) * 2.0**-53 + 2.0**-54
    assert middle == 1.0 or normal(key, 0) == normal_quantile(middle)


@pytest.mark.parametrize("rest", [0, 1, 2**11 - 1])
def test_the_largest_draw_there_is(rest):
    """The middle of the last step rounds up to 1, whose quantile is none."""
    last = normal(key_of((2**53 - 1 << 11) + rest), 0)
    assert last == normal_quantile(1.0 - 2.0**-53)
    assert 8.0 < last < FARTHEST_SD


@settings(max_examples=6)
@given(
    paths=st.integers(MANY, 120),
    seed=st.integers(0, 2**32),
    scale_ms=st.sampled_from([0.01, 1.0, 40.0]),
    jump_ms=st.sampled_from([0.0, 300.0, -300.0]),
)
def test_the_smallest_of_many_draws_is_the_smallest_of_all(paths, seed, scale_ms, jump_ms):
    """Whatever the beliefs learn, also when all smallest draws suddenly lie above the limit or far below it."""
    random = np.random.default_rng(seed)
    rule, history = VCRoute(), np.zeros((paths, 3))
    history[:] = np.stack([np.full(paths, 2.0), random.uniform(50.0, 50.0 + scale_ms, paths), random.uniform(1.0, 60.0, paths)], axis=1)
    state = allocate(rule, 2, paths)
    init(rule, state, 1, path_history(history), np.uint64(seed))
    assert state.call[1].candidates.count >= MANY
    for slot in range(400):
        arms = state.arms[1]
        draws = [arms[p].mu_ms + arms[p].sd_ms * normal(state.call[1].key, slot * paths + p) for p in range(paths)]
        path = lowest_draw(*(part[1] for part in state), slot)
        assert path == int(np.argmin(draws))
        learn(rule, state.call[1], state.arms[1], state.upper[1], path, history[path, 1] + (jump_ms if slot > 200 else 0.0))
        if slot == 300:
            for other in range(paths):
                learn(rule, state.call[1], state.arms[1], state.upper[1], other, 2.0 * jump_ms)
