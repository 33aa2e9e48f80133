"""Scales that one very bad system cannot compress: values beyond an end are drawn at the end and marked."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics import Estimate


class Interval(NamedTuple):
    """Position of an estimate in percent of the scale: value and interval ends, clipped to the scale, and flags for clipping.

    `beyond` is "left" or "right" if the value itself is beyond the scale, else ""; `cut` is the same for the ends of the interval.
    """

    value: str
    low: str
    high: str
    beyond: str
    cut: tuple[bool, bool]


class Scale(NamedTuple):
    """Range of values, from left to right."""

    low: float
    high: float

    def place(self, value: float) -> str:
        """Return the clipped position of a value as a CSS percentage, "12.34%"."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100.0 * min(1.0, max(0.0, share)):.2f}%"

    def interval(self, estimate: Estimate) -> Interval | None:
        """Return the position of an estimate; None if it has no value. Without an interval both ends equal the value."""
        value, low, high = estimate
        if value != value:
            return None
        low, high = (low, high) if low == low and high == high else (value, value)
        beyond = "left" if value < self.low else "right" if value > self.high else ""
        return Interval(self.place(value), self.place(low), self.place(high), beyond, (low < self.low, high > self.high))


def robust(estimates: Sequence[Estimate], better: int = 1, min_step: float = 1.0) -> Scale:
    """Return a scale with all values except outliers, and their intervals up to the fences; the best value is never an outlier.

    Args:
        estimates: estimates to draw.
        better: +1 if more is better, -1 if less is better.
        min_step: minimum distance of an outlier from its quartile; it is also at least 1.5 times the interquartile range (Tukey).
    """
    if better < 0:
        turned = robust([Estimate(-value, -high, -low) for value, low, high in estimates], min_step=min_step)
        return Scale(-turned.high, -turned.low)
    values = np.array([estimate.value for estimate in estimates if estimate.value == estimate.value])
    if not values.size:
        return Scale(0.0, 1.0)
    quartiles = np.percentile(values, (25.0, 75.0))
    fence = max(min_step, 1.5 * float(quartiles[1] - quartiles[0]))
    low_fence, high_fence = float(quartiles[0]) - fence, max(float(quartiles[1]) + fence, float(values.max()))
    ends = [end for estimate in estimates for end in estimate if end == end and low_fence <= estimate.value]
    low, high = max(min(ends), low_fence), min(max(ends), high_fence)
    margin = max(0.05 * min_step, 0.04 * (high - low))
    return Scale(low - margin, high + margin)
