"""The anchored score: the share of the attainable gain that a system achieved, in percent.

    score = 100 (mean of the system - mean of zero) / (mean of hundred - mean of zero)

with means over the worlds of a stratum, or of a board, in which strata have their weights. It is a ratio of means, because a mean of ratios
would be dominated by worlds without room for gains. Zero is the best published system with its published constants. Hundred is an oracle.
For calls over paths it is the hindsight oracle over path and playout lag with at most 6 changes of path per minute, which sees only
expected losses; for rates it is the rule that knows the capacity of the next tenth of a second, which is not a bound. If hundred minus zero
is under `Anchors.min_room`, there is no room and no score. Zero is chosen on the same worlds and fixed during resampling.
"""

from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, resample

NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


class Axis(NamedTuple):
    """Anchored scores of a board or stratum.

    Attributes:
        zero: name of the best published system.
        tuned: name of the tuned reference rule; "" without one.
        hundred: name of the oracle with score 100.
        room: mean of hundred minus that of zero, in the ranked metric.
        scores: score of every system and oracle; all NaN if there is no room.
    """

    zero: str
    tuned: str
    hundred: str
    room: Estimate
    scores: dict[str, Estimate]
    has_room: bool


def anchored(paired: Paired, tuned: str, columns: Columns) -> Axis | None:
    """Return the scores of all systems; None without a published system or without the oracle.

    Args:
        paired: results of systems and oracles.
        tuned: name of the tuned reference rule; "" for none.
        columns: columns of the suite.
    """
    names, anchors = paired.systems, columns.anchors
    found = sample(paired, columns.ranked_by)
    zero = best_published(paired, columns)
    if anchors is None or anchors.hundred not in names or not zero or not found.sizes.size:
        return None
    at = [names.index(zero), names.index(anchors.hundred)]

    def gap(values: np.ndarray) -> np.ndarray:
        of_zero, of_hundred = values[at].mean(axis=-1)
        return (of_hundred - of_zero)[None]

    def score(values: np.ndarray) -> np.ndarray:
        means = values.mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return 100.0 * (means - means[at[0]]) / (means[at[1]] - means[at[0]])

    above_zero = found.values - found.values[at[0]]
    (room,) = resample(*found, gap, noise=above_zero[at[1:]]).estimates()
    has_room = room.value >= anchors.min_room
    scores = resample(*found, score, noise=above_zero).estimates() if has_room else [NOTHING] * len(names)
    return Axis(zero, tuned, anchors.hundred, room, dict(zip(names, scores, strict=True)), has_room)


def best_published(paired: Paired, columns: Columns) -> str:
    """Return the published system with the best mean of the ranked metric; "" if there is none."""
    published = [name for name in paired.systems if name in columns.published]
    means = sample(paired.of(*published), columns.ranked_by).values.mean(axis=-1) if published else np.zeros(0)
    return published[int(np.argmax(means))] if np.isfinite(means).any() else ""


def format_score(score: Estimate) -> str:
    """Return a score as text, "63 [51, 74]", or "no room"."""
    if not np.isfinite(score.value):
        return "no room"
    ends = f" [{round(score.low)}, {round(score.high)}]" if np.isfinite(score.low) else ""
    return f"{round(score.value)}{ends}"
