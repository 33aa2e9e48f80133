"""GCC, second stage in the draft: a scalar Kalman filter of the delay variation.

draft-ietf-rmcat-gcc-02 5.3 (the report on Google Congestion Control over Wi-Fi, slide 8): m is the trend of the queueing delay per group.

    var_v = max(1, a var_v + (1 - a) z^2), z = d - m clipped to 3 sqrt(var_v), a = (1 - chi)^(30 f), f the minimum departure gap in s
    K = (e + q) / (e + q + var_v); m = (1 - K) m + K d; e = (1 - K)(e + q)

Left out: the two-state filter of slope and offset that libwebrtc no longer uses.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

Q = 1e-3  # draft-02 5.3
START_ERROR = 0.1  # the same
START_VARIANCE_MS2 = 50.0  # the same
_CLIPS = 3.0
_GAPS = 60


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
