"""SCReAM version 1, the trend of the queuing delay (RFC 8298 4.1.2), which indicates a growing queue.

Every min(50 ms, s_rtt), with f = qdelay / target:

    avg = (1 - QDELAY_WEIGHT) avg + QDELAY_WEIGHT f
    a = R(1) / R(0), R the autocorrelation of the last 20 f minus their mean; 0 if all are equal
    qdelay_trend = clip(a avg, 0, 1)
    qdelay_trend_mem = max(0.99 qdelay_trend_mem, qdelay_trend)
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_HISTORY = 20
_EVERY_US = 50_000
_MEMORY = 0.99

TREND = np.dtype(
    (
        np.record,
        [
            ("trend", "f8"),
            ("memory", "f8"),
            ("average", "f8"),
            ("at_us", "i8"),  # time of the newest sample
            ("next", "i8"),
            ("history", "f8", (_HISTORY,)),
        ],
    )
)


@kernel
def clear_trend(trend):
    """Start as after a time without queue."""
    trend.trend = trend.memory = trend.average = 0.0
    trend.at_us = trend.next = 0
    trend.history[:] = 0.0


@kernel
def follow(trend, share, rtt_us, now_us, weight):
    """Add the queuing delay if a sample is due.

    Args:
        trend: record of TREND, updated.
        share: float64, qdelay divided by its target, at least 0.
        rtt_us: float64, s_rtt.
        now_us: int64, current time.
        weight: float64, QDELAY_WEIGHT, 0 to 1.
    """
    if now_us - trend.at_us < min(rtt_us, _EVERY_US):
        return
    trend.at_us = now_us
    trend.average = (1.0 - weight) * trend.average + weight * share
    trend.history[trend.next % _HISTORY] = share
    trend.next += 1
    trend.trend = min(max(_correlation(trend) * trend.average, 0.0), 1.0)
    trend.memory = max(_MEMORY * trend.memory, trend.trend)


@kernel
def _correlation(trend):
    first, mean = trend.history[0], 0.0  # makes the deviation of equal shares exactly 0
    for i in range(_HISTORY):
        mean += (trend.history[i] - first) / _HISTORY
    at_0, at_1, before = 0.0, 0.0, 0.0
    for i in range(_HISTORY):
        off = trend.history[(trend.next + i) % _HISTORY] - first - mean
        at_0 += off * off
        at_1 += off * before
        before = off
    return at_1 / at_0 if at_0 > 0.0 else 0.0
