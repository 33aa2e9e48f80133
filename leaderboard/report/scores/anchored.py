"""The anchored score: share of the attainable gain that a system got, in percent.

    score = 100 (mean of the system - mean of zero) / (mean of hundred - mean of zero)

over the worlds of a stratum, or of a board, in which strata have their weights. It is a ratio of means: a mean of ratios would be ruled by
the worlds in which there is nothing to win. Zero is the best published system with its printed constants, hundred the hindsight oracle over
path and playout level with at most 6 changes of path a minute, which sees expected losses only. Where hundred less zero is under
`LEAST_ROOM` of R there is no room, and no score. Zero is chosen by the same worlds and kept while they are resampled.
"""

from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, resample

PUBLISHED = (
    "DRT-BF", "DRT-BFP", "DRT-WM", "DRT-WML", "VIA-BF", "VIA-BFP", "VIA-WM", "VIA-WML", "VCR-WM", "VCR-WML",
    "DRT-NEQ", "DRT-EWMA", "DRT-QTL",
)  # fmt: skip
"""Systems of conf/system with printed constants: the VCRoute paper's five in each reading, NetEQ and classic adaptive playout."""

HUNDRED = "oracle_joint_6"
INFORMED = "oracle_informed"
ANCHORS = (HUNDRED, INFORMED)
LEAST_ROOM = 0.5
NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


class Axis(NamedTuple):
    """The anchored scores of a board or stratum.

    Attributes:
        zero: name of the best published system.
        tuned: name of the best tuned rule; None without one.
        room: mean R of hundred less that of zero.
        scores: of every system and oracle; NaN throughout where there is no room.
    """

    zero: str
    tuned: str | None
    room: Estimate
    scores: dict[str, Estimate]

    @property
    def has_room(self) -> bool:
        """Whether there is enough to be won for a score."""
        return self.room.value >= LEAST_ROOM


def anchored(paired: Paired, kinds: dict[str, str], metric: str = "r", rng_seed: int = 0) -> Axis | None:
    """Scores of all systems; None without a published system or without the oracle.

    Args:
        paired: results of systems and oracles.
        kinds: of each system, as results have it: "rule", "tuned", "agent" or "oracle".
        metric: a column of which more is better.
        rng_seed: seed of the resampling.
    """
    names = paired.systems
    found = sample(paired, metric)
    published = [name for name in names if name in PUBLISHED]
    if HUNDRED not in names or not published or not found.sizes.size:
        return None
    means = dict(zip(names, found.values.mean(axis=-1), strict=True))
    zero = max(published, key=means.__getitem__)
    tuned = max((name for name in names if kinds[name] == "tuned"), key=means.__getitem__, default=None)
    at = [names.index(zero), names.index(HUNDRED)]

    def gap(values: np.ndarray) -> np.ndarray:
        of_zero, of_hundred = values[at].mean(axis=-1)
        return (of_hundred - of_zero)[None]

    def score(values: np.ndarray) -> np.ndarray:
        means = values.mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return 100.0 * (means - means[at[0]]) / (means[at[1]] - means[at[0]])

    (room,) = resample(*found, gap, rng_seed).estimates()
    scores = resample(*found, score, rng_seed).estimates() if room.value >= LEAST_ROOM else [NOTHING] * len(names)
    return Axis(zero, tuned, room, dict(zip(names, scores, strict=True)))


def shown(score: Estimate) -> str:
    """A score for reading, "63 [51, 74]", or "no room"."""
    if not np.isfinite(score.value):
        return "no room"
    ends = f" [{round(score.low)}, {round(score.high)}]" if np.isfinite(score.low) else ""
    return f"{round(score.value)}{ends}"
