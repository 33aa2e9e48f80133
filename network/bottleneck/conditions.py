"""Delay and loss of a link that change over time, together with its rate: a trace with `Conditions`.

A packet is lost at random by the chance in force when it enters the link, before the queue. One that has left the queue takes the delay in
force then, and does not overtake those before it. The smallest delay of the trace is the world's own (`forward_ms`, `backward_ms`); what is
above it is added here, on the way back too, as by a link of which both directions change together.

Left out: a delay that changes while a packet is under way.
"""

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel


@kernel
def _entry(capacity, s, at_us):
    """Return the index in the pool of the entry in force at `at_us`, in time of the call."""
    first, at_us = capacity.first[s], (at_us + capacity.start_us[s]) % capacity.length_us[s]
    index, past = np.int64(1), capacity.entries[s]  # to the first entry after `at_us`; the first one begins at 0
    while index < past:
        middle = (index + past) // 2
        if capacity.times_us[first + middle] <= at_us:
            index = middle + 1
        else:
            past = middle
    return first + index - 1


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

    `link` is the bottleneck's record of LINK, whose last arrival is updated; `seed` that of the world, for jitter.
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
