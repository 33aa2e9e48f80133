"""SCReAM, the target queuing delay (RFC 8298 4.1.2.3, the same in version 2): larger against loss-based flows.

At each report, for the delay divided by the minimum target: mean m of the newest 50, variance v of the newest 200; new = m + sqrt(v), times
the minimum target.

    loss event rate > 0.002   target = 1.5 new
    v < 0.2                   target = new
    new < minimum             target = max(target / 2, new)
    else                      target *= 0.9
    always                    minimum <= target <= maximum

The loss event rate is a moving average of round trips with a loss, with a weight of 0.01 for each new one (as in the published code).
"""

import math

import numpy as np

from vcgym.network.kernels.jit import kernel

_OF_VARIANCE, _OF_MEAN = 200, 50
_LOSSY = 0.002
_STEADY = 0.2
_KEEPS = 0.99

TARGET = np.dtype(
    (
        np.record,
        [
            ("target_us", "f8"),
            ("loss_event_rate", "f8"),
            ("counted_us", "i8"),  # last counted round trip
            ("next", "i8"),
            ("history", "f8", (_OF_VARIANCE,)),
        ],
    )
)


@kernel
def clear_target(target, low_ms):
    """Start at the minimum target, as after a time without queue."""
    target.target_us, target.loss_event_rate = low_ms * 1000.0, 0.0
    target.next = target.counted_us = 0
    target.history[:] = 0.0


@kernel
def count_round_trip(target, loss_event, rtt_us, now_us):
    """Count a loss event, or a round trip without one.

    Args:
        target: record of TARGET; `loss_event_rate` is updated.
        loss_event: bool, the report caused a loss event.
        rtt_us: float64, s_rtt.
        now_us: int64, current time.
    """
    if loss_event:
        target.loss_event_rate = _KEEPS * target.loss_event_rate + (1.0 - _KEEPS)
        target.counted_us = now_us
    elif now_us - target.counted_us > rtt_us:
        target.loss_event_rate *= _KEEPS
        target.counted_us = now_us


@kernel
def adjust_target(target, queuing_us, low_ms, high_ms):
    """Update the target with the delay of one report.

    Args:
        target: record of TARGET, updated.
        queuing_us: int64, qdelay, at least 0.
        low_ms: float64, minimum target, above 0; the same at every call.
        high_ms: float64, maximum target, at least `low_ms`.
    """
    low_us, high_us = low_ms * 1000.0, high_ms * 1000.0
    target.history[target.next % _OF_VARIANCE] = queuing_us / low_us
    target.next += 1
    # The history begins with zeros, as after a time without queue, so it always counts in full length.
    recent, total, squares = 0.0, 0.0, 0.0
    for i in range(_OF_VARIANCE):
        value = target.history[(target.next + i) % _OF_VARIANCE]
        total += value
        squares += value * value
        recent += value if i >= _OF_VARIANCE - _OF_MEAN else 0.0
    variance = max(squares / _OF_VARIANCE - (total / _OF_VARIANCE) ** 2, 0.0)
    new_us = (recent / _OF_MEAN + math.sqrt(variance)) * low_us
    if target.loss_event_rate > _LOSSY:
        target.target_us = 1.5 * new_us
    elif variance < _STEADY:
        target.target_us = new_us
    elif new_us < low_us:
        target.target_us = max(0.5 * target.target_us, new_us)
    else:
        target.target_us *= 0.9
    target.target_us = max(min(target.target_us, high_us), low_us)
