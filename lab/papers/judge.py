"""The judge of all papers: decides by the statement's rule whether our value reproduces the published one.

    within       our interval overlaps the accepted range, and is no wider than half of the value it is compared with
    at most      the upper end of the interval is at most the accepted high end
    at least     the lower end of the interval is at least the accepted low end
    lower        the change is below 0 with 95 % confidence and, if a size is published, its interval overlaps that size
    higher       the change is above 0 with 95 % confidence
    equal        the interval of the change is within the accepted range
    not higher   the upper end of the interval of the change is at most the accepted high end
    none         cannot be judged

A number without an interval (independent of sampling, or an extreme over all worlds) is its own interval; a number whose worlds give no
interval (NaN) cannot be judged.
"""

import math

from lab.papers.statements import Statement
from vcgym.leaderboard.statistics import Estimate

REPRODUCED, NOT, CANNOT = WORDS = "reproduced", "not", "cannot"
REVERSED, HIGHER = "reversed", "higher than published"
SMALLER, LARGER = "the direction holds, the size is smaller", "the direction holds, the size is larger"


def judge(statement: Statement, ours: Estimate) -> tuple[str, str]:
    """Return the verdict on a measured value, one of `WORDS`, and its reason."""
    low, high = ours.low, ours.high
    if statement.rule == "none":
        return CANNOT, statement.note
    if math.isnan(low) or math.isnan(high):
        return CANNOT, "too few worlds for an interval"
    if statement.rule in ("lower", "higher"):
        return _direction(statement, ours)
    assert statement.accepted is not None
    lowest, highest = statement.accepted
    if statement.rule == "within":
        return _within(ours, lowest, highest)
    if statement.rule == "at most" or statement.rule == "not higher":
        return (REPRODUCED, "as low as published") if high <= highest else (NOT, _beyond(low > highest, HIGHER))
    if statement.rule == "at least":
        return (REPRODUCED, "as high as published") if low >= lowest else (NOT, _beyond(high < lowest, "lower than published"))
    if lowest <= low and high <= highest:
        return REPRODUCED, "no difference beyond the margin"
    return NOT, _beyond(high < lowest or low > highest, "a difference beyond the margin")


def _beyond(surely: bool, words: str) -> str:
    return words if surely else f"may be {words}"


def _within(ours: Estimate, lowest: float, highest: float) -> tuple[str, str]:
    if ours.high < lowest:
        return NOT, "smaller than published"
    if ours.low > highest:
        return NOT, "larger than published"
    if ours.high - ours.low > 0.5 * max(abs(lowest), abs(highest)):
        return NOT, "the interval is too wide to tell"
    return REPRODUCED, "interval meets the published range"


def _direction(statement: Statement, ours: Estimate) -> tuple[str, str]:
    low, high = (ours.low, ours.high) if statement.rule == "lower" else (-ours.high, -ours.low)
    if low > 0.0:
        return NOT, REVERSED
    if high >= 0.0:
        return NOT, "no difference that the worlds tell"
    if statement.accepted is not None:
        lowest, highest = statement.accepted
        if -low < lowest:
            return NOT, SMALLER
        if -high > highest:
            return NOT, LARGER
    return REPRODUCED, "the direction holds" + (", and so does the size" if statement.accepted is not None else "")
