"""Observation of an agent at a sender with relative actions: values of order one, as many for a queue of any length.

Delays are compressed, x / sqrt(1 + x^2), in units of 20 ms (round trip: 100 ms), ages in units of 200 ms, losses in percent. For the order,
the packet that SBPN would consider takes the place of the queue.
"""

import numpy as np

from vcgym.baselines.order.sbpn import Sbpn, best_of
from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.features.relative import compressed
from vcgym.envs.call.features.sender.queue import QUEUE_FEATURES, write_packet
from vcgym.envs.call.features.sender.sender import ORDER_FEATURES, RATE_FEATURES
from vcgym.network.bottleneck.send_queue import item_at
from vcgym.network.kernels.jit import kernel

_SBPN2 = Sbpn()
_DELAY, _SHARE, _AGE = (5.0, "20 ms, compressed"), (100.0, "percent, compressed"), (5.0, "200 ms, compressed")
_COMPRESSED = {
    "lost_newest": _SHARE, "lost": _SHARE, "queueing_delay": _DELAY, "queueing_change": _DELAY, "excess": _DELAY, "waiting": _DELAY,
    "rtt": (1.0, "100 ms, compressed"), "report_age": _AGE, "oldest_age": (1.0, "expiry times, compressed"),
    "since_sent": (1.0, "100 ms, compressed"),
}  # fmt: skip


def _compressed(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    return tuple(
        one._replace(unit=_COMPRESSED[one.name][1], low=max(one.low, -1.0), high=1.0) if one.name in _COMPRESSED else one
        for one in features
    )


RELATIVE_RATE_FEATURES = _compressed(RATE_FEATURES)
RELATIVE_ORDER_FEATURES = _compressed(ORDER_FEATURES)
BEST_FEATURES = tuple(
    one._replace(unit=f"{one.unit}, compressed", low=max(one.low, -1.0), high=1.0) if one.high > 1 or one.low < 0 else one
    for one in QUEUE_FEATURES
)
_FACTOR = np.array([_COMPRESSED[one.name][0] if one.name in _COMPRESSED else 0.0 for one in ORDER_FEATURES])
_IS_LONG = np.array([one.high > 1 or one.low < 0 for one in QUEUE_FEATURES])


@kernel
def compress_senders(which, rows):
    """Compress features of senders, RATE_FEATURES or ORDER_FEATURES.

    Args:
        which: int64 (n,), sessions.
        rows: float32 (sessions, features); the rows of `which` are overwritten.
    """
    for s in which:
        for i in range(rows.shape[1]):
            if _FACTOR[i] > 0.0:
                rows[s, i] = compressed(rows[s, i] * _FACTOR[i])


@kernel
def observe_best(senders, which, out):
    """Write BEST_FEATURES: QUEUE_FEATURES of the packet that SBPN would consider, compressed; zeros for an empty queue.

    Args:
        senders: (sessions,) of SENDER; read only.
        which: int64 (n,), sessions.
        out: float32 (sessions, features); the rows of `which` are overwritten.
    """
    for s in which:
        sender = senders[s]
        out[s, :] = 0.0
        if sender.queue.waiting > 0:
            item = item_at(sender.queue, best_of(_SBPN2, sender.queue, sender.now_us))
            write_packet(item, sender.now_us, (sender.rtt_us + sender.stats.queueing_us) / 2.0, sender.queue.waiting, out[s])
            for i in range(out.shape[1]):
                if _IS_LONG[i]:
                    out[s, i] = compressed(out[s, i])
