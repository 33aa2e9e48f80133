"""GCC, second stage: the trend of the delay variation d between groups.

libwebrtc (trendline_estimator): the slope of the accumulated delay variation, with times in whole ms since the first sample. With fewer
than 20 samples, or all at the same time, the slope is unchanged.

    acc += d; smooth = 0.9 smooth + 0.1 acc
    slope = least squares of smooth over the samples' times, for the last 20
    modified trend = min(n, 60) slope gain, n the samples so far, gain 4

draft-ietf-rmcat-gcc-02 5.3 (the report on Google Congestion Control over Wi-Fi, slide 8): a scalar Kalman filter, in which m is the trend
of the queueing delay per group.

    var_v = max(1, a var_v + (1 - a) z^2), z = d - m clipped to 3 sqrt(var_v), a = (1 - chi)^(30 f), f the minimum departure gap in s
    K = (e + q) / (e + q + var_v); m = (1 - K) m + K d; e = (1 - K)(e + q)

Left out: the two-state filter of slope and offset that libwebrtc no longer uses.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

SMOOTHING = 0.9
SAMPLES = 20
GAIN = 4.0
MAX_COUNTED = 60
_SATURATES = 1000
Q = 1e-3  # draft-02 5.3
START_ERROR = 0.1  # the same
START_VARIANCE_MS2 = 50.0  # the same
_CLIPS = 3.0
_GAPS = 60


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


@record
class Kalman:
    """Filter, and the newest gaps between departures."""

    n: int = 0
    offset: float = 0.0  # m
    error: float = START_ERROR  # e
    variance: float = START_VARIANCE_MS2  # var_v
    gaps_ms: NDArray[np.float64] = np.zeros(_GAPS)


@kernel
def _min_gap_ms(kalman, departures_ms):
    kalman.gaps_ms[kalman.n % _GAPS] = departures_ms
    kalman.n += 1
    smallest = departures_ms
    for i in range(min(kalman.n, _GAPS)):
        smallest = min(smallest, kalman.gaps_ms[i])
    return smallest


@kernel
def add_scalar(kalman, variation_ms, departures_ms, chi):
    """Update with d, `variation_ms` between two groups that left `departures_ms` apart, and return m in ms, float64.

    `chi`, below 1, is the learning rate of the noise variance, which is constant with 0.
    """
    if chi > 0.0:
        share = (1.0 - chi) ** (30.0 * _min_gap_ms(kalman, departures_ms) / 1000.0)
        limit = _CLIPS * math.sqrt(kalman.variance)
        z = min(max(variation_ms - kalman.offset, -limit), limit)
        kalman.variance = max(1.0, share * kalman.variance + (1.0 - share) * z * z)
    error = kalman.error + Q
    gain = error / (error + kalman.variance)
    kalman.offset = (1.0 - gain) * kalman.offset + gain * variation_ms
    kalman.error = (1.0 - gain) * error
    return kalman.offset
