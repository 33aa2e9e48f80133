"""Choice by regret over kinds of worlds: equal to a slow twin, robust to a kind that fails, and judged on kinds left out."""

import math
import statistics

import numpy as np
import pytest

from vcgym.leaderboard.tuning.regret import chosen, chosen_without, gains, judged, regrets, total_regret


def drawn(candidates, kinds, worlds, seed=0):
    draws = np.random.default_rng(seed)
    of_kind = draws.normal(80.0, 5.0, (1, kinds, 1)) + draws.exponential(4.0, (1, kinds, 1)) * draws.normal(0.0, 1.0, (1, kinds, worlds))
    return of_kind + draws.normal(0.0, 2.0, (candidates, kinds, 1)) + draws.normal(0.0, 0.3, (candidates, kinds, worlds))


def slow_choice(scores):
    """The same by definition, in plain Python."""
    totals = []
    for own in scores.tolist():
        squares = []
        for kind in range(len(own)):
            means = [statistics.fmean(other[kind]) for other in scores.tolist()]
            worlds = [statistics.fmean(column) for column in zip(*(other[kind] for other in scores.tolist()), strict=True)]
            squares.append(((max(means) - statistics.fmean(own[kind])) / statistics.pstdev(worlds)) ** 2)
        totals.append(math.sqrt(statistics.fmean(squares)))
    return totals.index(min(totals)), totals


@pytest.mark.parametrize("seed", range(5))
def test_the_choice_is_that_of_a_slow_twin(seed):
    scores = drawn(7, 4, 6, seed)
    number, totals = slow_choice(scores)
    assert chosen(scores) == number
    np.testing.assert_allclose(total_regret(scores), totals, rtol=1e-9)


def test_no_kind_counts_for_its_unit():
    scores = drawn(5, 3, 8)
    scaled = scores * np.array([1.0, 50.0, 0.01])[:, None] + np.array([0.0, -7.0, 3.0])[:, None]
    np.testing.assert_allclose(regrets(scaled), regrets(scores), rtol=1e-8)
    assert (regrets(scores).min(axis=0) == 0.0).all()
    assert np.isfinite(regrets(np.ones((2, 3, 4)))).all()


def planted(losses):
    """Scores of candidates that lose so much on each kind, over worlds with a standard deviation of 1."""
    worlds = np.tile([-1.0, 1.0], 4)
    return 80.0 + worlds - np.array(losses)[:, :, None]


def test_a_rule_that_fails_on_one_kind_is_not_chosen():
    """Its mean regret is the smaller one, 0.2 to 0.25."""
    assert chosen(planted([[0.0, 0.0, 0.0, 0.8], [0.25, 0.25, 0.25, 0.25]])) == 1
    assert chosen(planted([[0.0, 0.0, 0.0, 0.8], [0.9, 0.25, 0.25, 0.25]])) == 0


def test_without_a_kind_it_is_chosen_and_judged_there():
    train = planted([[0.5, 0.5, 0.5], [0.0, 0.0, 2.0], [0.4, 0.4, 0.4]])
    assert chosen(train) == 2 and chosen_without(train, "abc") == {"a": 2, "b": 2, "c": 1}
    asked = []

    def play(number, group):
        asked.append((number, group))
        return train[number]["abc".index(group)][None]

    found = judged(train, "abc", play)
    assert sorted(asked) == [(0, "a"), (0, "b"), (0, "c"), (1, "c"), (2, "a"), (2, "b")]
    np.testing.assert_allclose(found.differences, [0.1, 0.1, -1.5])
    assert found.low == found.high == pytest.approx(-1.3 / 3.0)
    assert not found.beats
    train[:] = planted([[0.5, 0.5, 0.5], [0.0, 0.1, 0.05], [0.4, 0.4, 0.4]])
    assert judged(train, "abc", play).beats


def test_kinds_of_a_group_are_left_out_together():
    train = planted([[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 2.0, 2.0]])
    assert chosen_without(train, ["a", "b", "c", "c"]) == {"a": 0, "b": 0, "c": 1}
    assert chosen_without(train[:, :1], ["a"]) == {"a": 1}


def test_gains_are_counted_in_deviations_with_an_interval_over_worlds():
    """Student's 97.5 % quantile of one degree of freedom is 12.7062."""
    published = np.array([[0.0, 2.0], [0.0, 20.0], [0.0, 8.0]])
    sure = gains(published, published + np.array([[1.0], [20.0], [0.0]]))
    np.testing.assert_allclose(sure.gains, [1.0, 2.0, 0.0])
    np.testing.assert_allclose((sure.differences, sure.halves), ([1.0, 20.0, 0.0], [0.0, 0.0, 0.0]))
    assert sure.beats and sure.low == sure.high == pytest.approx(1.0)
    unsure = gains(published, published + np.array([[0.9, 1.1], [20.0, 20.0], [0.0, 0.8]]))
    np.testing.assert_allclose(unsure.halves, [1.27062, 0.0, 5.08248], rtol=1e-4)
    half = math.hypot(1.27062, 5.08248 / 4.0) / 3.0
    assert (unsure.low, unsure.high) == (pytest.approx(3.1 / 3.0 - half, rel=1e-4), pytest.approx(3.1 / 3.0 + half, rel=1e-4))
