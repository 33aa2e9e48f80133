"""GCC, second stage in libwebrtc: the slope of the accumulated delay variation (trendline_estimator).

    acc += d; smooth = 0.9 smooth + 0.1 acc
    slope = least squares of smooth over the samples' times, for the last 20
    modified trend = min(n, 60) slope gain, n the samples so far, gain 4

Times are in whole ms since the first sample. With fewer than 20 samples, or all at the same time, the slope is unchanged.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

SMOOTHING = 0.9
SAMPLES = 20
GAIN = 4.0
MAX_COUNTED = 60
_SATURATES = 1000


@record
class Trendline:
    """Samples, and the slope."""

    n: int = 0
    first_ms: int = 0
    accumulated_ms: float = 0.0
    smooth_ms: float = 0.0
    slope: float = 0.0
    at_ms: NDArray[np.float64] = np.zeros(SAMPLES)
    delay_ms: NDArray[np.float64] = np.zeros(SAMPLES)
    next: int = 0  # place of the next sample


@kernel
def add_variation(trend, variation_ms, at_ms):
    """Update with one sample, at a whole ms, and return the modified trend."""
    if trend.n == 0:
        trend.first_ms = at_ms
    trend.accumulated_ms += variation_ms
    trend.smooth_ms = SMOOTHING * trend.smooth_ms + (1.0 - SMOOTHING) * trend.accumulated_ms
    trend.at_ms[trend.next], trend.delay_ms[trend.next] = np.float64(at_ms - trend.first_ms), trend.smooth_ms
    trend.next = trend.next + 1 if trend.next + 1 < SAMPLES else 0
    trend.n = min(trend.n + 1, _SATURATES)
    if trend.n >= SAMPLES:
        _fit(trend)
    return min(trend.n, MAX_COUNTED) * trend.slope * GAIN


@kernel
def _fit(trend):
    mean_at, mean_delay = 0.0, 0.0
    for i in range(SAMPLES):
        mean_at += trend.at_ms[i] / SAMPLES
        mean_delay += trend.delay_ms[i] / SAMPLES
    top, bottom = 0.0, 0.0
    for i in range(SAMPLES):
        top += (trend.at_ms[i] - mean_at) * (trend.delay_ms[i] - mean_delay)
        bottom += (trend.at_ms[i] - mean_at) ** 2
    if bottom > 0.0:
        trend.slope = top / bottom
