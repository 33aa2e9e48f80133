"""Results relative to what was attainable, and delay against loss.

The anchored score is the share of the attainable gain that a system achieved, in percent.

    score = 100 (centre of the system - centre of zero) / (centre of hundred - centre of zero)

with the centres that rank the systems, over the worlds of a stratum or of a board: interquartile means of R, means elsewhere. So the score
is the ranked difference to zero as a share of that of hundred, and both have the same sign. It is a ratio of centres, because a mean of
ratios would be dominated by worlds without room for gains. Zero is the best published system of the board. Hundred is an oracle.
For calls over paths it is the hindsight oracle over path and playout lag with at most 6 changes of path per minute, which sees only
expected losses; for rates it is the rule that knows the capacity of the next tenth of a second, which is not a bound. If hundred minus zero
is under `Columns.min_headroom`, there is no room and no score. Zero is chosen on the board's worlds and fixed during resampling.

A Pareto front has the systems that no other one dominates in delay and loss.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.results.columns import Columns, DelayLoss, interval_text
from vcgym.leaderboard.statistics.aggregates import trimmed_mean
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, resample
from vcgym.leaderboard.statistics.seeds import entries, pooled
from vcgym.leaderboard.statistics.summaries import differences, shares

NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


class Axis(NamedTuple):
    """Anchored scores of a board or stratum.

    Attributes:
        zero: name of the best published system.
        hundred: name of the oracle with score 100.
        headroom: centre of hundred minus that of zero, in the ranked metric.
        scores: score of every system and oracle; all NaN if there is no room.
    """

    zero: str
    hundred: str
    headroom: Estimate
    scores: dict[str, Estimate]
    has_headroom: bool


def anchored(paired: Paired, zero: str, columns: Columns) -> Axis | None:
    """Return the scores of all systems; None without a published system or without the oracle.

    Args:
        paired: results of systems and oracles.
        zero: name of the best published system of the board; "" for none.
        columns: columns of the suite.
    """
    hundred, primary = columns.hundred, columns.primary
    if hundred not in paired.systems or not zero:
        return None
    above = differences(paired, primary.name, zero, primary.trim)
    has_headroom = above[hundred].value >= columns.min_headroom
    found = shares(paired, primary.name, zero, hundred, primary.trim) if has_headroom else dict.fromkeys(above, NOTHING)
    return Axis(zero, hundred, above[hundred], found, has_headroom)


def best_published(paired: Paired, columns: Columns, needed: Collection[str] = ()) -> str:
    """Return the published system with the best centre of the ranked metric; "" if there is none, or if one of `needed` is not there."""
    if not set(needed) <= set(paired.systems):
        return ""
    published = [name for name in paired.systems if name in columns.published]
    if not published or not (found := sample(paired.of(*published), columns.ranked_by)).sizes.size:
        return ""
    return published[int(np.argmax(trimmed_mean(found.values, columns.primary.trim)))]


def format_score(score: Estimate) -> str:
    """Return a score as text, "63 [51, 74]", or "no room"."""
    return interval_text(score, 0, style="z") if np.isfinite(score.value) else "no room"


class Point(NamedTuple):
    """System in a plane of two metrics.

    Attributes:
        delay_ms: mean over worlds.
        loss: mean over worlds, 0 to 1.
        on_front: true if no other system has less of one and no more of the other.
        front_share: share of resamples in which the system is on the front; NaN without resamples.
    """

    delay_ms: Estimate
    loss: Estimate
    on_front: bool
    front_share: float


def front(paired: Paired, plane: DelayLoss) -> dict[str, Point]:
    """Return each system in the plane of delay and loss, over the worlds in which every system has a delay."""
    results, ranked = paired.results, entries(paired.systems)
    total = np.sum([results[name].to_numpy() for name in plane.losses], axis=0)
    total = np.where(np.isfinite(results[plane.delay].to_numpy()), total, np.nan)
    both = paired._replace(results=results.append_column("_loss", [total]))
    spreads = []
    for metric, ending in ((plane.delay, ""), ("_loss", ", loss")):  # seeds move both independently: their draws follow from the names
        found, named = sample(both, metric), ranked._replace(names=tuple(f"{name}{ending}" for name in ranked.names))
        spread = resample(found.values, found.sizes, lambda values: values.mean(axis=-1), calls=found.calls)
        spreads.append(pooled(spread, named, found.values, found.sizes, found.calls))
    delay, loss = spreads
    moved = undominated(delay.resampled, loss.resampled)
    shares = moved.mean(axis=-1) if moved.shape[-1] else np.full(len(moved), np.nan)
    ahead = undominated(delay.centre, loss.centre)
    ends = zip(ranked.names, delay.estimates(), loss.estimates(), ahead, shares, strict=True)
    return {name: Point(delay_ms, lost, bool(on_front), float(share)) for name, delay_ms, lost, on_front, share in ends}


def undominated(delay_ms: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return (S, ...) bool: true if no other system is at least as good in both and better in one."""
    no_worse = (delay_ms[None] <= delay_ms[:, None]) & (loss[None] <= loss[:, None])
    better = (delay_ms[None] < delay_ms[:, None]) | (loss[None] < loss[:, None])
    return np.logical_not(np.any(no_worse & better, axis=1))
