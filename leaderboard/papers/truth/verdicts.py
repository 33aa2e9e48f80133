"""From results to verdicts: whether a claim holds in some worlds, by the paired bootstrap interval of the difference over worlds.

    lower        holds: the interval lies below 0;      reversed: above 0;               else it does not hold
    equal        holds: it lies within the margin;      else it does not hold
    not higher   holds: its upper end is in the margin; reversed: its lower end beyond;  else it does not hold

Delays are compared as a share of the reference's mean, margin 5 %; loss in shares of packets sent, margin one percentage point.
"""

import math
from fnmatch import fnmatchcase
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.papers.truth.claims import EQUAL, LOWER, Claim, Figure
from vcgym.leaderboard.papers.truth.outcomes import STATISTICS
from vcgym.leaderboard.statistics import Estimate, difference, pair_worlds

HOLDS, FAILS, REVERSED, UNKNOWN = "holds", "does not hold", "reversed", "no value"
DELAY_MARGIN, LOSS_MARGIN = 0.05, 0.01
NEGLIGIBLE_DELAY, NEGLIGIBLE_LOSS = 0.01, 0.001


class Verdict(NamedTuple):
    """Finding on a claim: the change from reference to system, a share, and the verdict."""

    change: Estimate
    word: str


class Number(NamedTuple):
    """Finding on a figure, and True if it is within the published range; None where there is no value."""

    value: float
    within: bool | None


def verdict(claim: Claim, results: pa.Table, accounting: str) -> Verdict | None:
    """Judge a claim on the results of one setting; None if no pair of the setting is meant."""
    results = _of_pairs(results, claim.pair)
    if not results.num_rows:
        return None
    loss = claim.statistic == "loss"
    change = difference(
        pair_worlds(results), STATISTICS[claim.statistic].column.format(accounting), claim.system, claim.reference, relative=not loss
    )  # fmt: skip
    return Verdict(change, judge(claim.direction, change, LOSS_MARGIN if loss else DELAY_MARGIN))


def judge(direction: str, change: Estimate, margin: float) -> str:
    """Return the word for an interval; see the module."""
    low, high = change.low, change.high
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if direction == LOWER:
        return HOLDS if high < 0.0 else REVERSED if low > 0.0 else FAILS
    if direction == EQUAL:
        return HOLDS if -margin <= low and high <= margin else FAILS
    return HOLDS if high <= margin else REVERSED if low > margin else FAILS


def compared_in_size(claim: Claim, found: Verdict) -> str:
    """Return the size of the change of a claim that something is lower, where it holds or is reversed.

    Returns:
        "negligible" if the whole interval is within `NEGLIGIBLE_DELAY` or `NEGLIGIBLE_LOSS` of none; of one that holds, "smaller" or
        "larger" if the whole interval is beyond the published size; else "".
    """
    low, high = found.change.low, found.change.high
    if claim.direction != LOWER or found.word not in (HOLDS, REVERSED):
        return ""
    if max(-low, high) < (NEGLIGIBLE_LOSS if claim.statistic == "loss" else NEGLIGIBLE_DELAY):
        return "negligible"
    if claim.size is None or found.word == REVERSED:
        return ""
    least, most = claim.size
    return "smaller" if -low < least else "larger" if -high > most else ""


def number(figure: Figure, results: pa.Table, accounting: str) -> Number | None:
    """Return the value of a figure in one setting, put together over its worlds; None if no pair of the setting is meant."""
    results = _of_pairs(results, figure.pair)
    if not results.num_rows:
        return None
    statistic = STATISTICS[figure.statistic]
    of_system = results.filter(pc.equal(results["system"], figure.system))
    value = float(statistic.over_worlds(of_system[statistic.column.format(accounting)].to_numpy()))
    return Number(value, None if math.isnan(value) else figure.low <= value <= figure.high)


def _of_pairs(results: pa.Table, pattern: str) -> pa.Table:
    return results.filter(pa.array([fnmatchcase(pair, pattern) for pair in results["pair"].to_pylist()]))
