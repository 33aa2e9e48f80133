"""The joint dynamic program over path and playout level against its definition as a plain recursion."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from lab.studies.oracles.joint import UNLIMITED, needed_levels, solve, stage
from lab.studies.oracles.rating import best_ratings, highest_rating
from lab.studies.oracles.seen import Seen
from vcgym.network.kernels.slots import LOST
from vcgym.network.playout.quality import rating

LIMITS = (0, 1, 2, UNLIMITED)


def small_world(seed):
    draws = np.random.default_rng(seed)
    paths, units = int(draws.integers(1, 4)), int(draws.integers(2, 26))
    delay_us = draws.integers(20_000, 75_000, (paths, units)) + 30_000 * (draws.random((paths, units)) < 0.2)
    chance = np.where(draws.random((paths, units)) < 0.5, 0.0, draws.random((paths, units)) * 0.3)
    chance[draws.random((paths, units)) < 0.1] = 1.0
    chance[0, 0] = 0.1
    delay_us = np.where(chance >= 1.0, LOST, delay_us).astype(np.int32)
    return Seen(delay_us, chance, np.zeros((paths, 3)))


def twin(seen, price, mean, changes, levels):
    """Least sum of cost - mean: every course, tick by tick."""
    need, (paths, units) = needed_levels(seen), seen.chance.shape
    lowest = int(need[need >= 0].min())
    unlimited = changes == UNLIMITED

    def there(unit, path, level):
        return need[path, unit] >= 0 and (need[path, unit] - lowest <= level or level == levels - 1)

    def after(tick, level, path, left, used):
        """Before unit tick - level, which may take another path."""
        unit = tick - level
        if unit >= units:
            return 0.0
        ways = [best(tick, level, path, left, used)]
        if unlimited or left > 0:
            ways += [best(tick, level, other, left - 1, used) for other in range(paths) if other != path]
        return min(ways)

    @cache
    def best(tick, level, path, left, used):
        unit, used = tick - level, used and tick % 10 != 0
        here, lost = there(unit, path, level), seen.chance[path, unit]
        cost = lowest + level - mean
        ways = [cost + price * (lost if here else 1.0) + after(tick + 1, level, path, left, used)]
        if level + 1 < levels:
            ways.append(cost + price + best(tick + 1, level + 1, path, left, used))
            if here and not used:
                ways.append(cost + best(tick + 1, level + 1, path, left, True))
        if here and not used and level > 0 and unit + 1 < units:
            for second in range(paths):
                spent = 0 if second == path else 1
                if (unlimited or spent <= left) and need[second, unit + 1] >= 0 and need[second, unit + 1] - lowest <= level - 1:
                    two = price * (lost + seen.chance[second, unit + 1])
                    ways.append(cost + two + after(tick + 1, level - 1, second, left - spent, True))
        return min(ways)

    def may_start(unit, level):
        return all(any(need[p, v] < 0 or v + need[p, v] > unit + level + lowest for p in range(paths)) for v in range(unit))

    starts = [(u, q, p) for u in range(units) for q in range(levels) for p in range(paths) if may_start(u, q)]
    return min(best(u + q, q, p, changes, False) for u, q, p in starts)


@pytest.mark.parametrize("seed", range(40))
def test_the_programme_equals_the_recursion_and_its_plan_costs_that(seed):
    seen = small_world(seed)
    price, mean, levels = 3.0 + 5.0 * (seed % 4), 5.0, 5 + seed % 5
    for limit, plan in zip(LIMITS, solve(stage(seen, levels), price, mean, LIMITS), strict=True):
        assert plan.value == pytest.approx(twin(seen, price, mean, limit, levels), abs=1e-3)
        assert plan.level.sum() - mean * len(plan.level) + price * plan.concealed.sum() == pytest.approx(plan.value, abs=1e-3)
        assert limit == UNLIMITED or (np.diff(plan.path) != 0).sum() <= limit
        assert (plan.path >= 0).all()


def test_what_is_played_is_there_and_in_order():
    seen = small_world(7)
    (plan,) = solve(stage(seen, 12), 20.0, 5.0, (2,))
    units = np.flatnonzero(plan.played_tick >= 0)
    need = needed_levels(seen)[plan.path[units], units]
    assert (need >= 0).all() and (plan.played_tick[units] - units >= need).all()
    assert (np.diff(plan.played_tick[units]) >= 0).all()


def test_a_world_in_which_nothing_arrives_is_refused():
    seen = Seen(np.full((2, 5), LOST, np.int32), np.ones((2, 5)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="nothing arrives"):
        stage(seen)


def test_a_steady_path_is_heard_at_its_delay_rounded_up():
    seen = Seen(np.full((1, 3000), 43_000, np.int32), np.full((1, 3000), 0.01), np.zeros((1, 3)))
    (best,) = best_ratings(seen, (0,))
    at_rest = float(rating(50.0, 0.01))
    assert at_rest <= best.rating <= at_rest + 0.01  # ticks stretched near the end thin the losses out
    assert best.rating <= best.bound <= best.rating + 0.05


def test_more_changes_never_hurt_and_bounds_hold_what_is_reached():
    draws = np.random.default_rng(5)
    bursts = np.repeat(draws.random((4, 10)) < 0.4, 80, axis=1)
    seen = Seen((60_000 + 120_000 * bursts + draws.integers(0, 20_000, bursts.shape)).astype(np.int32), 0.02 * bursts, np.zeros((4, 3)))
    best = best_ratings(seen, (0, 1, 2, 6, UNLIMITED))
    assert all(one.bound >= one.rating for one in best)
    for fewer, more in pairwise(best):
        assert more.rating >= fewer.rating - 0.05
        assert more.bound >= fewer.rating


def test_the_highest_rating_of_cuts_by_a_fine_grid():
    cuts = [(1500.0, 190.0), (400.0, 182.0), (6000.0, 220.0)]
    shares = np.linspace(0.0, 1.0, 2_000_001)
    delays = np.maximum(60.0, np.max([floor - price * shares for price, floor in cuts], axis=0))
    found, at = highest_rating(cuts, 60.0)
    assert found == pytest.approx(float(np.max(rating(delays, shares))), abs=1e-4)
    assert float(rating(max(60.0, *(floor - price * at for price, floor in cuts)), at)) == pytest.approx(found)
