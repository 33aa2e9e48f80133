"""SBPN1 and SBPN2, send buffers with priorities and expiry times (the seed paper on SBPN, section 3), and its authors' further ideas.

At a transmission opportunity, the best packet is the one with the highest priority; ties are broken by the earliest expiry, then by age,
oldest first.

    SBPN1   if the packet would arrive too late, expiry < now + way RTT, discard it and consider the next one
    SBPN2   the same, but send a packet that is the only one in the queue even if it is late: packets keep flowing, the receiver keeps
            reporting a rate, and TFRC does not mistake silence for a path without capacity

Audio has the higher priority. A full queue rejects the new packet, as the kernel does (`REJECTS`), or evicts the worst of all packets,
including the new one (`EVICTS`).

Further ideas of the authors: `discard` WHEN_FULL discards expired packets only when space is needed; `weight` above 0 orders by the score
weight x priority - time left / expiry time, where the paper only says that priority and expiry could be weighted. `way` is half of the
round trip in the paper; use more if all queueing is in the forward direction.
"""

import enum
from typing import Annotated, NamedTuple

from vcgym.baselines.order.scheduler import REJECT, drop
from vcgym.baselines.rule import Control, rule
from vcgym.network.bottleneck.send_queue import item_at
from vcgym.network.kernels.jit import kernel


class Overflow(enum.IntEnum):
    """Victim in a full queue."""

    REJECTS = 0  # the new packet
    EVICTS = 1  # the worst of all packets


class Discard(enum.IntEnum):
    """Time at which an expired packet is discarded."""

    AT_ONCE = 0
    WHEN_FULL = 1


@rule(Control.ORDER, learns=False)
class Sbpn(NamedTuple):
    """Parameters; SBPN1 is `keep_last` False. `way`: forward share of the round trip."""

    keep_last: bool = True
    overflow: Overflow = Overflow.REJECTS
    discard: Discard = Discard.AT_ONCE
    weight: Annotated[float, (0.0, 1e6)] = 0.0
    way: Annotated[float, (0.0, 2.0)] = 0.5

    def choose(self, queue, now_us, rtt_us):
        best = best_of(self, queue, now_us)
        if self.discard == Discard.WHEN_FULL or not is_expired(self, item_at(queue, best), now_us, rtt_us):
            return best
        return best if self.keep_last and queue.waiting == 1 else drop(best)

    def choose_victim(self, queue, kind, expires_us, now_us, rtt_us):
        if self.discard == Discard.WHEN_FULL:
            for i in range(queue.waiting):
                if is_expired(self, item_at(queue, i), now_us, rtt_us):
                    return i
        if self.overflow == Overflow.REJECTS:
            return REJECT
        worst = _worst_of(self, queue, now_us)
        item = item_at(queue, worst)
        # The new packet is the youngest, so it loses ties.
        behind = item.kind < kind or (item.kind == kind and item.expires_us > expires_us)
        return worst if behind else REJECT


@kernel
def is_expired(params, item, now_us, rtt_us):
    """Return True if a queued packet, sent now, would arrive after its expiry; `rtt_us` is 0 before the first report."""
    return item.expires_us - now_us < params.way * rtt_us


@kernel
def _goes_before(params, item, other, now_us):
    """Return True if a packet ranks before an older one."""
    if params.weight > 0.0:
        return _score(params, item, now_us) > _score(params, other, now_us)
    if item.kind != other.kind:
        return item.kind > other.kind
    return item.expires_us < other.expires_us


@kernel
def _score(params, item, now_us):
    return params.weight * item.kind - (item.expires_us - now_us) / max(item.expires_us - item.created_us, 1)


@kernel
def best_of(params, queue, now_us):
    """Return the index of the best packet."""
    best = 0
    for i in range(1, queue.waiting):
        if _goes_before(params, item_at(queue, i), item_at(queue, best), now_us):
            best = i
    return best


@kernel
def _worst_of(params, queue, now_us):
    worst = 0
    for i in range(1, queue.waiting):
        if not _goes_before(params, item_at(queue, i), item_at(queue, worst), now_us):
            worst = i
    return worst
