"""Ranks from pairwise comparisons of systems, corrected for the number of comparisons.

Each pair of systems is compared by the difference of their trimmed means (the interquartile mean for R, the mean for a sender's metrics) on
the same worlds. With S systems there are S (S - 1) claims "this system is better than that one"; if each were tested at 5 %, most
leaderboards would contain false claims. So all are tested together: a difference, in units of its standard error, counts if it exceeds the
95 % quantile over resamples of the largest of all studentised differences (max-T bootstrap). Claims that pass are removed and the rest is
tested again, until no more pass. The probability of any false claim on the board is then about 5 %, and so is the probability that any rank
interval misses its system's rank.

Holm's step-down of separate tests was not chosen: it ignores how similar most systems are, and with 500 comparisons it needs p-values below
1e-4, more than 2,000 resamples can resolve.

Source: Romano and Wolf, Exact and approximate stepdown methods for multiple hypothesis testing, JASA 100 (2005), algorithm 4.1, on
studentised differences; Mogstad, Romano, Shaikh and Wilhelm, Inference for ranks, Review of Economic Studies 91 (2024), for ranks from
them.

The smallest difference that a suite detects with a power of 80 %: a difference is detected if it exceeds c standard errors. A difference d
is detected with probability 80 % if d = (c + z) standard errors, with z the 80 % quantile of the error's distribution (Bloom, Minimum
detectable effects, Evaluation Review 19, 1995). The standard error is the median over all pairs of differing systems of that of their
paired difference. The distribution is Student's, with the number of worlds minus the number of kinds as degrees of freedom. With fewer than
`MIN_FREEDOM` the result is NaN, because standard error, quantile and bound are then too uncertain. Alone: c for one comparison chosen in
advance, two-sided at 5 %. Together: the bound for all comparisons of a board.
"""

from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE, trimmed_mean
from vcgym.leaderboard.statistics.paired import MetricSample, Paired, sample
from vcgym.leaderboard.statistics.resampling import CONFIDENCE, RESAMPLES, as_normal, resample, student_quantile
from vcgym.leaderboard.statistics.seeds import Entries, entries

POWER = 0.8
MIN_FREEDOM = 10  # with so many, a standard error is within a quarter of the truth in two of three cases
MIN_CALLS = 5  # independent ones over measured time: with fewer no system has a rank
ROUNDING = 1e-9  # relative difference of equal systems due to rounding
# Minimum of a resample's standard error as a share of the sample's: with fewer than `FEW` worlds of some kind, and otherwise.
FEW, MIN_ERROR_OF_FEW, MIN_ERROR = 4, 0.25, 0.5


class Standing(NamedTuple):
    """Rank interval of one system.

    Attributes:
        system: its name.
        rank_low: best rank that the data allow: 1 + systems significantly better; 0, as `rank_high`: there are too few calls for a rank.
        rank_high: worst rank that the data allow: all systems - systems significantly worse.
    """

    system: str
    rank_low: int
    rank_high: int

    @property
    def ranks(self) -> str:
        """Ranks that the data allow: "2", or "1-3"; "" without a rank."""
        if not self.rank_low:
            return ""
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low}-{self.rank_high}"


class Comparison(NamedTuple):
    """Pairwise comparisons of S systems.

    Attributes:
        beats: (S, S) bool, true if the row's system is better than the column's.
        error: (S (S - 1) / 2,) standard error of each difference; 0 if the difference is the same in every world.
        bound: critical value of the first step, in standard errors.
    """

    beats: np.ndarray
    error: np.ndarray
    bound: float


def rank(paired: Paired, metric: str, better: int = 1, trim: float = INTERQUARTILE) -> list[Standing]:
    """Return systems, and methods in place of their trainings, by the trimmed mean of `metric`, best first, with rank intervals.

    Args:
        paired: results of one mode.
        metric: name of a column.
        better: +1 if more is better, -1 if less is better.
        trim: share of the worlds trimmed at each end: 0.25 for the interquartile mean, 0 for the mean.

    Raises:
        ValueError: `better` is 0.
    """
    if not better:
        raise ValueError(f"metric {metric!r} has no better end to rank by")
    found, ranked = sample(paired, metric), entries(paired.systems)
    size = len(ranked.names)
    centres = ranked.means @ trimmed_mean(found.values, trim) if found.sizes.size else np.full(size, np.nan)
    order = sorted(range(size), key=lambda s: (-better * np.nan_to_num(centres[s]), ranked.names[s]))
    if found.is_measured.any() and found.calls.sum() < MIN_CALLS:
        return [Standing(ranked.names[s], 0, 0) for s in order]
    beats = separated(found, better, trim=trim, ranked=ranked).beats
    return [Standing(ranked.names[s], 1 + int(beats[:, s].sum()), size - int(beats[s].sum())) for s in order]


def separated(
    found: MetricSample, better: int, rng_seed: int = 0, resamples: int = RESAMPLES, trim: float = INTERQUARTILE,
    ranked: Entries | None = None,
) -> Comparison:  # fmt: skip
    """Compare every system with every other, corrected for all comparisons.

    The error of a method has the part of its seeds too (`seeds`). A difference in units of that error is taken to follow Student's law with
    the degrees of freedom of the seeds, and is tested as the normal number of the same probability: so a method of two seeds is hardly ever
    told apart, and prevents no claim between others.

    Args:
        found: values of a metric for S systems.
        better: +1 if more is better, -1 if less is better.
        rng_seed: seed of the resampling.
        resamples: number of resamples.
        trim: see `rank`.
        ranked: what is compared, of the S systems; None: each of them.
    """
    ranked = ranked or Entries(tuple(map(str, range(len(found.values)))), tuple((s,) for s in range(len(found.values))))
    size = len(ranked.names)
    first, second = np.triu_indices(size, 1)
    beats = np.zeros((size, size), bool)
    if size < 2 or not found.calls.size or (found.calls < 2).any():
        return Comparison(beats, np.full(len(first), np.nan), np.nan)
    spread = resample(
        found.values, found.sizes, lambda values: _centres_and_covariances(values, found, trim), rng_seed, resamples, calls=found.calls
    )  # fmt: skip
    floor = ROUNDING * max(1.0, float(np.abs(spread.centre[: len(found.values)]).max()))
    systems = len(found.values)  # whose centres come before the covariances
    difference, error = _differences(spread.centre[:systems], spread.centre[systems:], ranked, floor)
    moved, errors = _differences(spread.resampled[:systems], spread.resampled[systems:], ranked, floor)
    # If two systems differ in only one or two worlds, a resample without them has zero difference with zero standard error. Without a
    # minimum, one such pair would prevent every claim on the board. data/coverage.json has the rate of false claims with these minima.
    min_error = MIN_ERROR_OF_FEW if found.calls.min() < FEW else MIN_ERROR
    moves = better * (moved - difference[:, None]) / np.maximum(errors, min_error * error[:, None])
    moves = np.stack([moves, -moves])  # each pair makes two claims, one per direction
    excess = np.stack([difference, -difference]) * better / error
    freedom = ranked.freedom[first] + ranked.freedom[second]
    seeded = freedom > 0
    excess[:, seeded] = as_normal(excess[:, seeded], freedom[seeded])
    open_claims, first_bound = np.ones(excess.shape, bool), np.nan
    while open_claims.any():
        bound = float(np.quantile(moves[open_claims].max(axis=0), CONFIDENCE))
        first_bound = bound if np.isnan(first_bound) else first_bound
        rejected = open_claims & (excess > bound)
        if not rejected.any():
            break
        open_claims &= ~rejected
    beats[first, second], beats[second, first] = ~open_claims
    return Comparison(beats, np.where(error > floor, error, 0.0), first_bound)


def _centres_and_covariances(values: np.ndarray, found: MetricSample, trim: float) -> np.ndarray:
    """Return (S + S * S, R) trimmed means of values (S, R, W) and the covariances of their errors.

    An error is the mean over worlds of the winsorised value minus that of its kind, divided by the kept share: the influence function of a
    trimmed mean (Wilcox, Introduction to Robust Estimation and Hypothesis Testing, section 3.3.2), summed within kinds.
    """
    worlds = values.shape[-1]
    cut = int(trim * worlds)
    ordered = np.partition(values, (cut, worlds - cut - 1), axis=-1)
    winsorised = np.clip(values, ordered[..., cut, None], ordered[..., worlds - cut - 1, None])
    winsorised -= np.repeat(np.add.reduceat(winsorised, found.starts, axis=-1) / found.sizes, found.sizes, axis=-1)
    winsorised *= np.repeat(np.sqrt(found.sizes / (found.calls - 1.0)), found.sizes)
    errors = winsorised.transpose(1, 0, 2)
    covariance = errors @ errors.transpose(0, 2, 1) / (worlds - 2 * cut) ** 2
    return np.concatenate([trimmed_mean(values, trim), covariance.reshape(len(errors), -1).T])


def _differences(centre: np.ndarray, covariances: np.ndarray, ranked: Entries, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (E (E - 1) / 2, ...) the differences of each pair of entries, and their standard errors, at least `floor`.

    Args:
        centre: (S, ...) centres of the systems; with a second axis, of resamples.
        covariances: (S * S, ...) covariances of their errors.
        ranked: the E entries.
        floor: smallest error.
    """
    covariance = covariances.reshape(len(centre), *centre.shape)
    first, second = np.triu_indices(len(ranked.names), 1)
    of_seeds = ranked.seed_variance(centre) if ranked.has_methods else np.zeros(centre.shape)
    if ranked.has_methods:
        centre = np.tensordot(ranked.means, centre, 1)
        covariance = np.tensordot(ranked.means, np.tensordot(ranked.means, covariance, (1, 1)), (1, 1))
        if centre.ndim > 1:
            centre = centre + ranked.draws(centre.shape[1]) * np.sqrt(of_seeds)
    worlds = np.maximum(covariance[first, first] + covariance[second, second] - 2.0 * covariance[first, second], 0.0)
    variance = worlds + of_seeds[first] + of_seeds[second]
    return centre[first] - centre[second], np.maximum(np.sqrt(variance), floor)


class Detectable(NamedTuple):
    """Detectable differences in the metric's unit; NaN if systems cannot be compared or worlds are too few.

    Attributes:
        alone: for two systems chosen in advance.
        together: for any two systems of a board, corrected for all comparisons.
        comparisons: number of pairs of systems.
    """

    alone: float
    together: float
    comparisons: int


def detectable(paired: Paired, metric: str, trim: float = INTERQUARTILE) -> Detectable:
    """Return the smallest detectable difference of trimmed means of `metric`."""
    found = sample(paired, metric)
    _, error, bound = separated(found, 1, trim=trim, ranked=entries(paired.systems))
    differing = error[error > 0.0]  # excludes NaN
    freedom = int(found.calls.sum()) - len(found.calls)
    if not differing.size or freedom < MIN_FREEDOM:
        return Detectable(np.nan, np.nan, len(error))
    alone, power = float(student_quantile(0.5 * (1.0 - CONFIDENCE), freedom)), float(student_quantile(1.0 - POWER, freedom))
    typical = float(np.median(differing))
    return Detectable((alone + power) * typical, (max(alone, bound) + power) * typical, len(error))
