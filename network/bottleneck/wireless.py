"""Hop behind the bottleneck: random loss, and outages after which all waiting packets leave at once (Wi-Fi).

Outages alternate with working times, exponential with mean `works_ms`; an outage lasts uniformly `low_ms` to `high_ms`. What comes in it is
held and released back to back, `GAP_US` apart, as arrivals come in bursts over Wi-Fi (the report on Google Congestion Control over Wi-Fi);
the lengths are assumed, for its traces are not public. Both are a function of (world, purpose, number), whatever was sent.
"""

import math

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel

GAP_US = 500  # from packet to packet of a burst that is released; the source says at most 1 ms

OUTAGES = np.dtype(
    (
        np.record,
        [
            ("key", "u8"),
            ("works_ms", "f8"),  # 0: no outages
            ("low_ms", "f8"),
            ("high_ms", "f8"),
            ("number", "i8"),  # of the outage that comes, or is
            ("begins_us", "i8"),
            ("ends_us", "i8"),
            ("last_us", "i8"),  # when the last packet came out
        ],
    )
)


@kernel
def start_outages(outages, seed, works_ms, low_ms, high_ms):
    """Begin the series of world `seed`."""
    outages.key = rng.stream_key(seed, 0, rng.OUTAGE)
    outages.works_ms, outages.low_ms, outages.high_ms = works_ms, low_ms, high_ms
    outages.number, outages.ends_us, outages.last_us = -1, 0, -1
    if works_ms > 0.0:
        _next_outage(outages)


@kernel
def _next_outage(outages):
    outages.number += 1
    works_ms = -outages.works_ms * math.log(1.0 - rng.uniform(outages.key, 2 * outages.number))
    lasts_ms = outages.low_ms + (outages.high_ms - outages.low_ms) * rng.uniform(outages.key, 2 * outages.number + 1)
    outages.begins_us = outages.ends_us + np.int64(works_ms * 1000.0)
    outages.ends_us = outages.begins_us + np.int64(lasts_ms * 1000.0)


@kernel
def pass_outages(outages, at_us):
    """Return when a packet that comes to the last hop at `at_us` comes out of it; times never fall."""
    if outages.works_ms <= 0.0:
        return at_us
    while outages.ends_us <= at_us:
        _next_outage(outages)
    out_us = outages.ends_us if outages.begins_us <= at_us else at_us
    if out_us > at_us or outages.last_us >= at_us:  # held, or behind those that were
        out_us = max(out_us, outages.last_us + GAP_US)
    outages.last_us = out_us
    return out_us


@kernel
def is_lost(seed, flow, number, share):
    """Return True if packet `number` of a flow is lost at random, a share of them, independently."""
    return share > 0.0 and rng.uniform(rng.stream_key(seed, flow, rng.PACKET_LOSS), number) < share
