"""Impairments of a link besides its queue: delay and loss that change over time, and a last hop with random loss and outages.

Delay and loss change together with the rate of a trace with `Conditions`. A packet is lost at random by the chance in force when it enters
the link, before the queue. One that has left the queue takes the delay in force then, and does not overtake those before it. The smallest
delay of the trace is the world's own (`forward_ms`, `backward_ms`); what is above it is added here, on the way back too, as by a link of
which both directions change together. Left out: a delay that changes while a packet is under way.

The last hop has outages after which all held packets leave at once (Wi-Fi). They alternate with working times, which are exponential with
mean `works_ms`; the length of an outage is uniform in `low_ms`..`high_ms`. Packets that arrive in an outage are held and released `GAP_US`
apart, because arrivals over Wi-Fi are bursty (the report on Google Congestion Control over Wi-Fi); the lengths are assumed, since its
traces are not public. Losses and outages are functions of (world, purpose, number), independent of the traffic.
"""

import math

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import entry_after
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

GAP_US = 500  # gap between packets of a released burst; the source says at most 1 ms


@record
class Outages:
    """Outages of a last hop."""

    key: np.uint64 = np.uint64(0)
    works_ms: float = 0.0  # 0: no outages
    low_ms: float = 0.0
    high_ms: float = 0.0
    number: int = -1  # of the next or current outage
    begins_us: int = 0
    ends_us: int = 0
    last_us: int = -1  # departure of the last packet


@kernel
def start_outages(outages, seed, works_ms, low_ms, high_ms):
    """Start the outages of a world: on average `works_ms` apart (0: none), each `low_ms` (at least 0) to `high_ms` long."""
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
    """Return the departure of a packet that arrives at the last hop at `at_us`; times must not decrease."""
    if outages.works_ms <= 0.0:
        return at_us
    while outages.ends_us <= at_us:
        _next_outage(outages)
    # After the loop the outage either contains the arrival or lies ahead.
    out_us = outages.ends_us if outages.begins_us <= at_us else at_us
    if out_us > at_us or outages.last_us >= at_us:  # held, or queued behind held packets
        out_us = max(out_us, outages.last_us + GAP_US)
    outages.last_us = out_us
    return out_us


@kernel
def is_lost(seed, flow, number, share):
    """Return True if packet `number` of `flow`, both at least 0, is lost with probability `share`, independently of the others."""
    return share > 0.0 and rng.uniform(rng.stream_key(seed, flow, rng.PACKET_LOSS), number) < share


@kernel
def _entry(capacity, s, at_us):
    """Return the index in the pool of the entry in force at `at_us`, in time of the call."""
    return capacity.first[s] + entry_after(capacity, s, (at_us + capacity.start_us[s]) % capacity.length_us[s]) - 1


@kernel
def with_loss_at(capacity, s, at_us, loss):
    """Return the probability of a loss at an instant in time of the call, with `loss`, that of other causes, included."""
    if capacity.changes[s] == 0:
        return loss
    return 1.0 - (1.0 - loss) * (1.0 - capacity.conditions.loss[_entry(capacity, s, at_us)])


@kernel
def delay_at(capacity, s, at_us):
    """Return the delay of bottleneck `s` at an instant above the trace's smallest, without jitter, int64 microseconds."""
    if capacity.changes[s] == 0:
        return np.int64(0)
    return capacity.conditions.delay_us[_entry(capacity, s, at_us)]


@kernel
def pass_conditions(link, capacity, s, seed, departs_us):
    """Return when a packet that leaves the queue has the changing delay of bottleneck `s` behind it; departures must not decrease.

    `link` is the bottleneck's record of `Link`, whose last arrival is updated; `seed` that of the world, for jitter.
    """
    if capacity.changes[s] == 0:
        return departs_us
    entry = _entry(capacity, s, departs_us)
    delay_us, jitter_us = capacity.conditions.delay_us[entry], capacity.conditions.jitter_us[entry]
    if jitter_us > 0:
        shift = 2.0 * rng.uniform(rng.stream_key(seed, 0, rng.JITTER), link.passed) - 1.0
        delay_us = max(delay_us + np.int64(np.rint(shift * jitter_us)), np.int64(0))
    link.passed += 1
    link.last_us = max(link.last_us, departs_us + delay_us)
    return link.last_us
