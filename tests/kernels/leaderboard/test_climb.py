"""The climbing search: its starts, its samples, and that it gets near an optimum that random trials miss."""

import numpy as np
import pytest

from vcgym.agents.sweeps.search import Domain
from vcgym.leaderboard.tuning.climb import climb, position, value_at

SPACE = {
    "lag_ms": Domain(low=0.0, high=200.0),
    "price": Domain(low=0.1, high=100.0, log=True),
    "packets": Domain(low=1, high=1000, log=True, whole=True),
    "memory": Domain(choices=[3, 5]),
}


def loss(values):
    """Distance to lag 80, price 2, packets 50 and memory 5, each on the scale of its domain."""
    wanted = {"lag_ms": 80.0, "price": 2.0, "packets": 50}
    apart = [position(SPACE[name], values[name]) - position(SPACE[name], value) for name, value in wanted.items()]
    return -float(np.sum(np.square(apart))) - 0.1 * (values["memory"] != 5)


def test_the_best_trial_is_returned_and_trials_are_counted():
    seen = []

    def score(values):
        seen.append(dict(values))
        return loss(values)

    best, highest = climb(score, SPACE, [{"lag_ms": 1.0, "price": 1.0, "packets": 1, "memory": 3}], 40, 7)
    assert seen[0] == {"lag_ms": 1.0, "price": 1.0, "packets": 1, "memory": 3}
    assert len(seen) == 40 and highest == max(map(loss, seen)) and best in seen
    assert climb(loss, SPACE, [seen[0]], 40, 7) == (best, highest)
    assert climb(loss, SPACE, [seen[0]], 40, 8) != (best, highest)


def test_it_gets_nearer_than_random_trials():
    start = [{"lag_ms": 0.0, "price": 0.1, "packets": 1, "memory": 3}]
    draws = np.random.default_rng(0)
    anywhere = [[loss({name: value_at(one, draws.random()) for name, one in SPACE.items()}) for _ in range(200)] for _ in range(20)]
    climbed = [climb(loss, SPACE, start, 200, seed)[1] for seed in range(20)]
    assert np.median(climbed) > 0.2 * np.median(np.max(anywhere, axis=1))


@pytest.mark.parametrize("domain", SPACE.values(), ids=SPACE)
def test_values_stay_in_their_domain(domain):
    drawn = [value_at(domain, place) for place in np.linspace(-0.5, 1.5, 60)]
    assert all(value in domain.choices if domain.choices else domain.low <= value <= domain.high for value in drawn)
    if not domain.choices:
        assert (drawn[0], drawn[-1]) == (domain.low, domain.high)
        assert [position(domain, value_at(domain, place)) for place in (0.3, 0.9)] == pytest.approx([0.3, 0.9], abs=0.05)


def test_without_a_space_the_starts_are_scored_alone():
    assert climb(lambda values: 3.0, {}, [{}, {}], 50, 0) == ({}, 3.0)
