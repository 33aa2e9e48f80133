"""Selection of paths: the three choices against their definitions, and the refresh against a list of all records."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.session import Inside
from vcgym.baselines.path.top_k import Choice, TopK, choose
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.path.via import Via
from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.baselines.rule import allocate

KEY = np.uint64(5)
bound = st.integers(0, 40).map(float)


def chosen(choice, **fields):
    """The paths chosen of those that have the given means or bounds."""
    state = allocate(Via(), 1, len(next(iter(fields.values()))))
    for name, values in fields.items():
        state.arms.bounds[name][0] = values
    choose(TopK(choice=choice), state.call[0].candidates, state.arms[0], state.shortlist[0])
    return set(state.shortlist[0, : state.call[0].candidates.count].tolist())


@given(st.lists(st.tuples(bound, st.one_of(bound, st.just(math.inf))), min_size=1, max_size=9))
def test_intervals_keep_the_smallest_set_that_every_path_outside_lies_above(pairs):
    low = np.array([-math.inf if spread == math.inf else lowest for lowest, spread in pairs])
    high = np.array([lowest + spread for lowest, spread in pairs])
    closed = []
    for bits in range(1, 1 << len(pairs)):
        inside = {path for path in range(len(pairs)) if bits >> path & 1}
        if all(low[path] > max(high[list(inside)]) for path in range(len(pairs)) if path not in inside):
            closed.append(inside)
    assert chosen(Choice.INTERVAL, low_ms=low, high_ms=high) == min(closed, key=len)


@pytest.mark.parametrize(
    ("bounds", "names"),
    [
        ({"A": (100, 110), "B": (105, 120), "C": (131, 140), "D": (108, 130)}, "ABD"),
        ({"A": (100, 110), "B": (105, 120), "C": (125, 140), "D": (108, 130)}, "ABCD"),
        ({"A": (100, 104), "B": (105, 120)}, "A"),
        ({"A": (100, 104), "B": (-math.inf, math.inf), "C": (900, 901)}, "ABC"),
    ],
)
def test_intervals_by_hand(bounds, names):
    """R6: intervals that overlap a better one are kept, those with unknown bounds too."""
    low, high = np.array(list(bounds.values()), float).T
    assert {list(bounds)[path] for path in chosen(Choice.INTERVAL, low_ms=low, high_ms=high)} == set(names)


@given(st.lists(bound, min_size=1, max_size=12))
def test_best_five_are_the_lowest_means(means):
    assert chosen(Choice.BEST_FIVE, mean_ms=means) == set(sorted(range(len(means)), key=lambda path: means[path])[:5])


@given(st.lists(st.one_of(bound, st.just(math.inf)), min_size=1, max_size=12))
def test_published_are_those_up_to_the_mean_bound(highs):
    finite = [high for high in highs if high < math.inf]
    mean = sum(finite) / len(finite) if finite else math.inf
    assert chosen(Choice.PUBLISHED, high_ms=highs) == {path for path, high in enumerate(highs) if high == math.inf or high <= mean}


def test_equal_bounds_are_all_kept_though_their_mean_is_rounded():
    assert sum([0.1] * 10) / 10 < 0.1
    assert chosen(Choice.PUBLISHED, high_ms=[0.1] * 10) == set(range(10))


HISTORY = np.array(
    [[900, 100.0, 2.0], [900, 110.0, 2.0], [0, 0.0, 0.0], [900, 150.0, 2.0], [900, 130.0, 2.0], [900, 140.0, 2.0], [9, 90.0, 30.0]]
)


@pytest.mark.parametrize("rule", [Via, VCRoute])
@pytest.mark.parametrize(
    ("choice", "paths"),
    [
        (Choice.INTERVAL, [0, 1, 2, 3, 4, 5, 6]),  # the path without history overlaps with every other one
        (Choice.BEST_FIVE, [0, 1, 2, 4, 6]),  # the path without history has the median of the means, 120
        (Choice.PUBLISHED, [0, 1, 2, 6]),  # mean bound of those that have one: 123
    ],
)
def test_a_router_takes_only_kept_paths(rule, choice, paths):
    router = Inside(rule(topk=TopK(choice=choice)), HISTORY, KEY)
    assert sorted({router.decide(slot * 10_000) for slot in range(500)}) == paths


def record_of(slot, path, delay_us, kind=MEDIA):
    return Record(kind, slot, path, 10_000 * slot, 10_000 * slot + delay_us, 10_000 * slot + delay_us, 0, 0)


@pytest.mark.parametrize("refresh_s", [0.25, 1.0])
def test_refresh_rests_on_what_has_come_since_the_last_one(refresh_s):
    """Media and probes of random paths and delays, some slots without any."""
    rng, paths = np.random.default_rng(4), 6
    history = np.stack([np.full(paths, 50.0), 80.0 + 20.0 * np.arange(paths), np.full(paths, 4.0)], axis=1)
    router = Inside(VCRoute(topk=TopK(refresh_s=refresh_s)), history, KEY)
    rows, seen, sets = history.tolist(), [[] for _ in range(paths)], set()
    for slot in range(700):
        path, delay_us = int(rng.integers(paths)), int(rng.integers(50_000, 150_000))
        if rng.random() < 0.8:
            router.learn(record_of(slot, path, delay_us, MEDIA if rng.random() < 0.7 else PROBE))
            seen[path].append(delay_us / 1000)
        router.decide(slot * 10_000)
        if slot and slot % round(100 * refresh_s) == 0:
            rows = [[len(d), statistics.mean(d), statistics.stdev(d)] if len(d) >= 2 else row for d, row in zip(seen, rows, strict=True)]
            seen = [[] for _ in range(paths)]
        low = np.array([mean - 1.96 * sd / math.sqrt(n) for n, mean, sd in rows])
        high = np.array([mean + 1.96 * sd / math.sqrt(n) for n, mean, sd in rows])
        count = router.state.call[0].candidates.count
        assert set(router.state.shortlist[0, :count].tolist()) == chosen(Choice.INTERVAL, low_ms=low, high_ms=high)
        sets.add(int(count))
    assert len(sets) > 1


@pytest.mark.parametrize("rule", [Via, VCRoute])
def test_a_path_that_turned_bad_is_left_at_the_next_refresh_only(rule):
    """Path 0 of 100 ms turns to 200 ms; intervals had ruled out path 1 of 110 ms for good."""
    history = np.array([[900, 100.0, 2.0], [900, 110.0, 2.0]])
    for refresh_s, last in ((0.0, 0), (1.0, 1)):
        router, paths = Inside(rule(topk=TopK(refresh_s=refresh_s)), history, KEY), []
        for slot in range(400):
            paths.append(router.decide(slot * 10_000))
            router.learn(record_of(slot, paths[-1], (200_000, 110_000)[paths[-1]] + 1000 * (slot % 3)))
        assert set(paths[:100]) == {0}
        assert set(paths[300:]) == {last}
