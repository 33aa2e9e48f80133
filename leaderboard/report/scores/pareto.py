"""Delay against loss: the systems that no other one dominates, and the hypervolume that they cover.

In two dimensions the hypervolume is an area and computed exactly. It is the part of the rectangle from no delay and no loss to the
reference point in which some system is better in both (Zitzler and Thiele, Multiobjective evolutionary algorithms, IEEE Transactions on
Evolutionary Computation 3, 1999), as a share of that rectangle. The declared reference point is 400 ms, beyond which a call is unacceptable
by ITU-T G.114, and 10 % loss. A system's own share is the loss of area without it.
"""

from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.results.columns import DelayLoss
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, resample
from vcgym.leaderboard.statistics.seeds import Entries, entries, pooled

REFERENCE_MS, REFERENCE_LOSS = 400.0, 0.1


class Point(NamedTuple):
    """System in a plane of two metrics.

    Attributes:
        delay_ms: mean over worlds.
        loss: mean over worlds, 0 to 1.
        on_front: true if no other system has less of one and no more of the other.
        front_share: share of resamples in which the system is on the front; NaN without resamples.
        own: loss of hypervolume without the system.
    """

    delay_ms: Estimate
    loss: Estimate
    on_front: bool
    front_share: float
    own: Estimate


class Front(NamedTuple):
    """Points of the systems of a board, and the area that they cover together."""

    points: dict[str, Point]
    hypervolume: Estimate


def front(paired: Paired, plane: DelayLoss) -> Front:
    """Return the Pareto front of delay and loss, over the worlds in which every system has a delay."""
    delay, losses = plane.delay, plane.losses
    results = paired.results
    total = np.sum([results[name].to_numpy() for name in losses], axis=0)
    total = np.where(np.isfinite(results[delay].to_numpy()), total, np.nan)
    both = paired._replace(results=results.append_column("_loss", [total]))
    delays, lost = sample(both, delay), sample(both, "_loss")
    ranked = entries(paired.systems)
    size, runs = len(ranked.names), len(paired.systems)
    values = np.concatenate([delays.values, lost.values])
    spread = resample(values, delays.sizes, lambda values: values.mean(axis=-1), calls=delays.calls)
    twice = Entries(
        ranked.names + tuple(f"{name}, loss" for name in ranked.names),
        ranked.members + tuple(tuple(runs + one for one in of_entry) for of_entry in ranked.members),
    )
    spread = pooled(spread, twice, values, delays.sizes, delays.calls)
    centre, moved = spread.centre.reshape(2, size), spread.resampled.reshape(2, size, -1)
    ahead, ahead_moved = undominated(*centre), undominated(*moved)
    share = ahead_moved.mean(axis=-1) if moved.shape[-1] else np.full(size, np.nan)
    area = spread._replace(centre=_areas(*centre), resampled=_areas(*moved), student=float(np.mean(spread.student))).estimates()
    ends = spread.estimates()
    points = {system: Point(ends[s], ends[size + s], bool(ahead[s]), float(share[s]), area[1 + s]) for s, system in enumerate(ranked.names)}
    return Front(points, area[0])


def undominated(delay_ms: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return (S, ...) bool: true if no other system is at least as good in both and better in one."""
    no_worse = (delay_ms[None] <= delay_ms[:, None]) & (loss[None] <= loss[:, None])
    better = (delay_ms[None] < delay_ms[:, None]) | (loss[None] < loss[:, None])
    return np.logical_not(np.any(no_worse & better, axis=1))


def hypervolume(delay_ms: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return the (...) share of the reference rectangle that systems (S, ...) dominate."""
    x, y = np.minimum(delay_ms / REFERENCE_MS, 1.0), np.minimum(loss / REFERENCE_LOSS, 1.0)
    order = np.argsort(x, axis=0, kind="stable")
    x, y = (np.take_along_axis(values, order, axis=0) for values in (x, y))
    widths = np.diff(x, axis=0, append=np.ones_like(x[:1]))
    return (widths * (1.0 - np.minimum.accumulate(y, axis=0))).sum(axis=0)


def _areas(delay_ms: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return (1 + S, ...) the hypervolume of all systems, then the contribution of each."""
    whole = hypervolume(delay_ms, loss)
    without = [hypervolume(np.delete(delay_ms, s, axis=0), np.delete(loss, s, axis=0)) for s in range(len(delay_ms))]
    return np.stack([whole, *(whole - part for part in without)])
