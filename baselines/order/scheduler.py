"""A scheduler: a stateless rule that chooses the next packet to send, with two methods in place of `decide`.

    choose(self, queue, now_us, rtt_us) -> int
        called at a transmission opportunity with a non-empty queue: i >= 0 sends the i-th oldest packet; `drop(i)` discards it, and the
        scheduler is called again unless the queue is empty
    choose_victim(self, queue, kind, expires_us, now_us, rtt_us) -> int
        called when a packet of that kind arrives at a full queue: index of the packet to discard, or REJECT

`queue`: vcgym.network.bottleneck.send_queue; `rtt_us`: the sender's smoothed round trip, 0 before the first report.

What differs between the sessions of a batch is selected by `scheduler_of`.
"""

from typing import Any

from vcgym.baselines.declared import add_methods
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

REJECT = -1


@kernel
def drop(i):
    """Return the decision that discards the i-th oldest packet."""
    return -1 - i


@generic(abstract=True)
def choose(params: Any, queue: Any, now_us: int, rtt_us: int) -> Any:
    """Choose the packet of a queue, not empty and read only, to send or drop: i >= 0 sends the i-th oldest, `drop(i)` discards it."""


@generic(abstract=True)
def choose_victim(params: Any, queue: Any, kind: int, expires_us: int, now_us: int, rtt_us: int) -> Any:
    """Choose the packet to discard from a full queue, which is read only: i >= 0 the i-th oldest, REJECT the new one.

    The new packet is of `kind` VIDEO or AUDIO, and useful until it arrives at `expires_us`.
    """


add_methods(choose, choose_victim)


@generic(inlined=True)
def scheduler_of(order: Any, state: Any, row: int) -> Any:
    """Return the scheduler of session `row` of a batch, by default the same for all; `state` is () if it has none."""
    return order
