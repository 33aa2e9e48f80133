"""The best R of a call from dynamic programs with prices, and a bound that no policy exceeds.

R = 93.2 - Id(x) - Ie(s) of the call's mean offset x and concealed share s (`vcgym.network.playout.quality`) is not a sum over ticks, so it
is optimised through sums: for a price w of concealment, `joint.solve` gives the minimum mean of offset + w concealed. Each price gives a
cut: every policy has x + w s >= D(w). R decreases in x and in s, so no policy exceeds the maximum of R on the border of the region allowed
by the cuts. There x is piecewise linear in s, and on each piece R is convex in s on either side of the knee of Id. The maximum is therefore
at a corner or at the knee.

The best plan found is the anchor (`Best.rating`), the maximum on the border the bound (`Best.bound`). Prices are added until bound and plan
are within `GAP` or no price can improve them. Because Id has a knee, the best R may lie between two plans of one price; then the call gets
one price up to some tick and another one after it. Without path changes, each path is solved separately instead.

The bound holds for courses of the player without a jump from more than one second above its target, up to the rounding of float32 (under
0.01). A plan maximises R, not its return under the additive reward `emodel`: in R, the marginal cost of concealment falls with its share.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lab.studies.oracles.joint import MAX_LEVELS, Plan, Stage, solve, stage
from lab.studies.oracles.seen import Seen
from vcgym.network.playout.player import UNIT_US
from vcgym.network.playout.quality import (
    BPL_G711_CONCEALED,
    IE_MAX,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
    rating,
)

GAP = 0.05
MAX_PRICES = 9
MIXTURES = 7  # bisections for each order of two prices
SPREAD = 1.25  # factor by which a mixture widens its two prices, so that changing from one plan to the other pays
_LEVEL_MS = UNIT_US / 1000.0


class BestInHindsight(NamedTuple):
    """Best result in hindsight under one limit on path changes.

    Attributes:
        plan: best plan found.
        rating: R of the plan.
        bound: upper bound on R of any policy within the limit.
    """

    plan: Plan
    rating: float
    bound: float


class _Cut(NamedTuple):
    """Cut x + price_ms * s >= floor_ms."""

    price_ms: float
    floor_ms: float


def best_ratings(seen: Seen, changes: Sequence[int], gap: float = GAP) -> list[BestInHindsight]:
    """Return the best R and its bound for each limit on path changes in the call.

    Args:
        seen: the world.
        changes: limits, ascending, `joint.UNLIMITED` last.
        gap: difference of bound and plan at which no further price is tried.
    """
    levels = None
    while True:
        staged = stage(seen, levels)
        found = _search(staged, tuple(changes), gap)
        if max(best.plan.at_top for best in found) == 0 or staged.levels >= MAX_LEVELS:
            break
        levels = min(int(1.5 * staged.levels) + 4, MAX_LEVELS)
    if changes[0] == 0 and found[0].bound - found[0].rating > gap and len(seen.delay_us) > 1:
        found[0] = _best_fixed(seen, gap)
    return found


def _best_fixed(seen: Seen, gap: float) -> BestInHindsight:
    """Return the best result without path changes: each path is solved separately, since paths cannot be mixed."""
    alone = []
    for p in range(len(seen.delay_us)):
        one = Seen(seen.delay_us[p : p + 1], seen.chance[p : p + 1], seen.history[p : p + 1])
        if (one.chance < 1.0).any():
            best = best_ratings(one, (0,), gap)[0]
            alone.append(best._replace(plan=best.plan._replace(path=np.full_like(best.plan.path, p))))
    top = max(alone, key=lambda best: best.rating)
    return top._replace(bound=max(best.bound for best in alone))


def local_price_ms(share: float) -> tuple[float, float]:
    """Return the price of one unit of concealed share in ms of delay: dIe/ds over dId/dx, above the knee of Id and below it."""
    percent = 100.0 * share
    slope = 100.0 * IE_MAX * BPL_G711_CONCEALED / (percent + BPL_G711_CONCEALED) ** 2
    return slope / (REDUCED_SLOPE_PER_MS + REDUCED_KNEE_SLOPE_PER_MS), slope / REDUCED_SLOPE_PER_MS


def highest_rating(cuts: Sequence[_Cut], lowest_ms: float) -> tuple[float, float]:
    """Return the maximum R in the region x >= lowest_ms, x + price s >= floor of every cut, and its share s."""
    lines = np.array([(0.0, lowest_ms), *cuts])
    (w, floor), knee = lines.T, REDUCED_KNEE_MS
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (floor[:, None] - floor[None, :]) / (w[:, None] - w[None, :])
        knees = (floor - knee) / w
    shares = np.concatenate([crossings.ravel(), knees, [0.0, 1.0]])
    shares = np.unique(shares[np.isfinite(shares) & (shares >= 0.0) & (shares <= 1.0)])
    delays = (floor[:, None] - w[:, None] * shares).max(axis=0)
    ratings = np.asarray(rating(delays, shares))
    return float(ratings.max()), float(shares[int(ratings.argmax())])


def _search(staged: Stage, changes: tuple[int, ...], gap: float) -> list[BestInHindsight]:
    """Try prices until bound and plan meet or no price can improve them; then mix the two plans around the best one."""
    lowest_ms = staged.lowest * _LEVEL_MS
    plans: list[list[Plan]] = [[] for _ in changes]
    cuts: list[list[_Cut]] = [[] for _ in changes]
    mean = staged.lowest + 0.5 * staged.levels
    price_ms: float | None = 0.5 * sum(local_price_ms(0.01))
    asked: list[float] = []
    while price_ms is not None:
        asked.append(price_ms)
        for found, cut, plan in zip(plans, cuts, solve(staged, price_ms / _LEVEL_MS, mean, changes), strict=True):
            found.append(plan)
            cut.append(_Cut(price_ms, _floor_ms(plan.value, mean, staged)))
        best = [_best(found, cut, lowest_ms) for found, cut in zip(plans, cuts, strict=True)]
        price_ms = None
        for n in sorted(range(len(changes)), key=lambda n: best[n].rating - best[n].bound):
            if price_ms is None and best[n].bound - best[n].rating > gap and len(asked) < MAX_PRICES:
                price_ms = _next_price(plans[n], cuts[n], lowest_ms, asked)
                # Cuts are tightest if the subtracted mean equals the result.
                mean = min(plan.delay_ms + (price_ms or 0.0) * plan.share for plan in plans[n]) / _LEVEL_MS
    return _mixed(staged, changes, plans, cuts, best, gap)


def _mixed(
    staged: Stage, changes: tuple[int, ...], plans: list[list[Plan]], cuts: list[list[_Cut]], best: list[BestInHindsight], gap: float
) -> list[BestInHindsight]:  # fmt: skip
    """Close the duality gap: one price up to some tick, another one after it, in either order. Bisect the tick to the knee."""
    lowest_ms = staged.lowest * _LEVEL_MS
    for n in range(len(changes)):
        if best[n].bound - best[n].rating <= gap or changes[n] == 0:
            continue
        share = highest_rating(cuts[n], lowest_ms)[1]
        near = _binding(cuts[n], share)
        ends = (min(near) / SPREAD, max(near) * SPREAD)
        for early, late in (ends, ends[::-1]):
            low, high = 0, staged.units
            for _ in range(MIXTURES):
                split = (low + high) // 2
                found = solve(staged, early / _LEVEL_MS, float(staged.lowest), changes, late / _LEVEL_MS, split)
                for other, plan in zip(plans, found, strict=True):
                    other.append(plan)
                # In the first order the lower price comes first: more of it means less delay.
                if (found[n].delay_ms > REDUCED_KNEE_MS) == (early < late):
                    low = split
                else:
                    high = split
        best = [_best(found, cut, lowest_ms) for found, cut in zip(plans, cuts, strict=True)]
    return best


def _best(plans: Sequence[Plan], cuts: Sequence[_Cut], lowest_ms: float) -> BestInHindsight:
    ratings = [float(rating(plan.delay_ms, plan.share)) for plan in plans]
    top = int(np.argmax(ratings))
    return BestInHindsight(plans[top], ratings[top], max(highest_rating(cuts, lowest_ms)[0], ratings[top]))


def _floor_ms(value: float, mean: float, staged: Stage) -> float:
    """Return the minimum mean cost implied by a sum of cost - mean; ticks: units minus those before the start plus the level change."""
    ticks = staged.units + staged.levels if value > 0.0 else max(staged.units - len(staged.start_top) - staged.levels, 1)
    return (mean + value / ticks) * _LEVEL_MS


def _binding(cuts: Sequence[_Cut], share: float) -> list[float]:
    """Return the prices of the cuts that are binding at a share."""
    floors = np.array([cut.floor_ms - cut.price_ms * share for cut in cuts])
    return [cut.price_ms for cut, floor in zip(cuts, floors, strict=True) if floor > floors.max() - 0.05]


def _next_price(plans: Sequence[Plan], cuts: Sequence[_Cut], lowest_ms: float, asked: Sequence[float]) -> float | None:
    """Return a price that may lower the bound, or None: the slope between the plans of two adjacent cuts, or a price beyond the last."""
    share = highest_rating(cuts, lowest_ms)[1]
    near = _binding(cuts, share)
    low, high = min(near), max(near)
    if high > 1.01 * low:
        one, other = (plans[[cut.price_ms for cut in cuts].index(price)] for price in (low, high))
        apart = one.share - other.share
        wanted = [(other.delay_ms - one.delay_ms) / apart if apart > 1e-9 else 0.0, float(np.sqrt(low * high))]
        wanted = [price for price in wanted if low < price < high]
    else:
        wanted = [*local_price_ms(share), 2.0 * high if share <= min(plan.share for plan in plans) else 0.5 * low]
    return next((price for price in wanted if all(abs(price / other - 1.0) > 0.01 for other in asked)), None)
