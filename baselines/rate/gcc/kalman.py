"""GCC, second stage in the draft: a Kalman filter of the delay variation, in two forms.

Scalar (draft-ietf-rmcat-gcc-02 5.3; the report on Google Congestion Control over Wi-Fi, slide 8): m is the trend of the queueing delay per
group.

    var_v = max(1, a var_v + (1 - a) z^2), z = d - m within 3 sqrt(var_v), a = (1 - chi)^(30 f), f the least departure gap in s
    K = (e + q) / (e + q + var_v); m = (1 - K) m + K d; e = (1 - K)(e + q)

Two-state (libwebrtc's overuse_estimator, no longer used there; aiortc): slope in ms per byte and offset in ms.

    h = (bytes_more, 1); r = d - slope bytes_more - offset; E += Q
    while the detector is normal: avg = b avg + (1 - b) r', var = max(1, b var + (1 - b)(avg - r')^2), r' = r within 3 sqrt(var)
    K = E h / (var + h' E h); (slope, offset) += K r; E = (I - K h') E
"""

import math

import numpy as np

from vcgym.network.kernels.jit import kernel

STEADY, OVERUSE, UNDERUSE = 0, 1, 2  # what the detector says (overuse.py)

Q = 1e-3  # draft-02 5.3
START_ERROR = 0.1  # the same
CHI = 0.01  # the same: 0.001 to 0.1
_CLIPS = 3.0
_GAPS = 60
_SATURATES = 1000
_START_VARIANCE = 50.0

KALMAN = np.dtype(
    (
        np.record,
        [
            ("n", "i8"),
            ("slope", "f8"),
            ("offset", "f8"),  # m of the scalar form
            ("offset_before", "f8"),
            ("e00", "f8"),
            ("e01", "f8"),
            ("e10", "f8"),
            ("e11", "f8"),  # e of the scalar form
            ("mean_noise", "f8"),
            ("variance", "f8"),
            ("gaps_ms", "f8", (_GAPS,)),
        ],
    )
)


@kernel
def clear_kalman(kalman, start_variance):
    """Begin anew."""
    kalman.n = 0
    kalman.slope, kalman.offset, kalman.offset_before = 8.0 / 512.0, 0.0, 0.0
    kalman.e00, kalman.e01, kalman.e10, kalman.e11 = 100.0, 0.0, 0.0, START_ERROR
    kalman.mean_noise, kalman.variance = 0.0, start_variance


@kernel
def _least_gap_ms(kalman, departures_ms):
    kalman.gaps_ms[kalman.n % _GAPS] = departures_ms
    kalman.n += 1
    least = departures_ms
    for i in range(min(kalman.n, _GAPS)):
        least = min(least, kalman.gaps_ms[i])
    return least


@kernel
def add_scalar(kalman, variation_ms, departures_ms, chi):
    """One sample of the draft's form; returns m. With `chi` 0 the noise stays as it is."""
    if chi > 0.0:
        share = (1.0 - chi) ** (30.0 * _least_gap_ms(kalman, departures_ms) / 1000.0)
        limit = _CLIPS * math.sqrt(kalman.variance)
        z = min(max(variation_ms - kalman.offset, -limit), limit)
        kalman.variance = max(1.0, share * kalman.variance + (1.0 - share) * z * z)
    error = kalman.e11 + Q
    gain = error / (error + kalman.variance)
    kalman.offset = (1.0 - gain) * kalman.offset + gain * variation_ms
    kalman.e11 = (1.0 - gain) * error
    return kalman.offset


@kernel
def add_two_state(kalman, variation_ms, bytes_more, departures_ms, verdict):
    """One sample of libwebrtc's former filter; `verdict`: the detector's after the sample before. Returns the offset in ms."""
    gap_ms = _least_gap_ms(kalman, departures_ms)
    kalman.e00 += 1e-13
    kalman.e11 += Q
    falls = kalman.offset < kalman.offset_before
    rises = kalman.offset > kalman.offset_before
    if (verdict == OVERUSE and falls) or (verdict == UNDERUSE and rises):
        kalman.e11 += 10.0 * Q
    residual = variation_ms - kalman.slope * bytes_more - kalman.offset
    if verdict == STEADY:
        _learn_noise(kalman, residual, gap_ms)
    top0 = kalman.e00 * bytes_more + kalman.e01
    top1 = kalman.e10 * bytes_more + kalman.e11
    bottom = kalman.variance + bytes_more * top0 + top1
    k0, k1 = top0 / bottom, top1 / bottom
    e00, e01 = kalman.e00, kalman.e01
    kalman.e00 = (1.0 - k0 * bytes_more) * e00 - k0 * kalman.e10
    kalman.e01 = (1.0 - k0 * bytes_more) * e01 - k0 * kalman.e11
    kalman.e10 = -k1 * bytes_more * e00 + (1.0 - k1) * kalman.e10
    kalman.e11 = -k1 * bytes_more * e01 + (1.0 - k1) * kalman.e11
    kalman.offset_before = kalman.offset
    kalman.slope += k0 * residual
    kalman.offset += k1 * residual
    return kalman.offset


@kernel
def _learn_noise(kalman, residual, gap_ms):
    limit = _CLIPS * math.sqrt(kalman.variance)
    seen = min(max(residual, -limit), limit)
    alpha = 0.002 if min(kalman.n, _SATURATES) > 300 else 0.01
    share = (1.0 - alpha) ** (30.0 * gap_ms / 1000.0)
    kalman.mean_noise = share * kalman.mean_noise + (1.0 - share) * seen
    kalman.variance = max(1.0, share * kalman.variance + (1.0 - share) * (kalman.mean_noise - seen) ** 2)
