"""Choice by regret over kinds of worlds, and its judgement on kinds that it left out.

A number that is best in the mean over worlds may be best for one kind alone. The regret of a candidate on a kind is the mean score of the
kind's best candidate less its own (Savage, The theory of statistical decision, JASA 46, 1951), in standard deviations of the kind's worlds,
so that no kind counts for its unit. The chosen candidate has the smallest root mean square of its regrets: a kind on which it fails
counts more than the same regret spread over several.

The choice is judged as it will be used, on kinds that it has not seen: chosen without a group of kinds, the candidate plays validation
worlds of that group next to the published constants. It beats them if the mean gain over kinds has a 95 % interval above 0, over other
worlds of these kinds. Gains are in standard deviations of the kind's validation worlds too.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.statistics.resampling import student_quantile


class Judgement(NamedTuple):
    """Gain over the published constants on kinds that were left out of the choice.

    Attributes:
        differences: (kinds,) mean difference of the metric.
        halves: (kinds,) half width of its 95 % interval.
        gains: (kinds,) the difference in standard deviations of the kind's worlds.
        low, high: 95 % interval of the mean gain over kinds.
    """

    differences: NDArray[np.float64]
    halves: NDArray[np.float64]
    gains: NDArray[np.float64]
    low: float
    high: float

    @property
    def beats(self) -> bool:
        """True if the published constants are beaten."""
        return self.low > 0.0


def regrets(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (candidates, kinds) regrets in standard deviations of worlds.

    Args:
        scores: (candidates, kinds, worlds) metric of each world; more is better.
    """
    means = scores.mean(axis=2)
    return np.asarray((means.max(axis=0) - means) / _deviation(scores.mean(axis=0)))


def total_regret(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (candidates,) the root mean square of the regrets over kinds; for `scores` see `regrets`."""
    return np.asarray(np.sqrt(np.square(regrets(scores)).mean(axis=1)))


def chosen(scores: NDArray[np.float64]) -> int:
    """Return the number of the candidate with the smallest `total_regret`, the first of equals."""
    return int(total_regret(scores).argmin())


def chosen_without(scores: NDArray[np.float64], groups: Sequence[str]) -> dict[str, int]:
    """Return for each group of kinds the candidate chosen without it; with one group, there is nothing to leave out."""
    left = {group: [other != group for other in groups] for group in groups}
    return {group: chosen(scores[:, kept] if any(kept) else scores) for group, kept in left.items()}


def judged(scores: NDArray[np.float64], groups: Sequence[str], play: Callable[[int, str], NDArray[np.float64]]) -> Judgement:
    """Judge the choice on kinds that it left out, against candidate 0.

    Args:
        scores: (candidates, kinds, worlds) of training worlds; candidate 0 has the published constants.
        groups: group of each kind, those of a group next to each other; they are left out together.
        play: function that returns (kinds, worlds) scores of a candidate on validation worlds of the kinds of a group.
    """
    without = chosen_without(scores, groups)
    published = {group: play(0, group) for group in without}
    tuned = [play(number, group) if number else published[group] for group, number in without.items()]
    return gains(np.concatenate(list(published.values())), np.concatenate(tuned))


def gains(published: NDArray[np.float64], tuned: NDArray[np.float64]) -> Judgement:
    """Return the gain of one set of scores (kinds, worlds) over another on the same worlds, at least two of each kind."""
    change, deviation = tuned - published, _deviation(published)
    kinds, worlds = change.shape
    halves = student_quantile(0.025, worlds - 1) * change.std(axis=1, ddof=1) / np.sqrt(worlds)
    found = change.mean(axis=1) / deviation
    mean, half = float(found.mean()), float(np.sqrt(np.square(halves / deviation).sum())) / kinds
    return Judgement(change.mean(axis=1), np.asarray(halves), found, mean - half, mean + half)


def _deviation(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (kinds,) the standard deviation of (kinds, worlds) scores; 1 where it is 0."""
    found = scores.std(axis=1)
    return np.asarray(np.where(found > 0.0, found, 1.0))
