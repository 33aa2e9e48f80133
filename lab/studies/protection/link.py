"""Links whose calls all protect themselves: the extra bytes queue and are dropped like all others.

G.711 calls in frames of 10 ms share a drop-tail link, the kernel of `vcgym.network.bottleneck.queue`. Each packet leaves up to 10 ms after
its capture, uniformly, so that packets of equal spacing do not take turns in being dropped. Behind the link each call has two paths that
lose packets in runs (simple Gilbert), each on its own; a copy takes the second one, and shares only the link with its packet.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import choose_trace, constant, pool
from vcgym.network.bottleneck.queue import MAX_QUEUED, allocate_queue, offer, start_link
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.packet_size import PLAIN, earlier_bytes, repair_bytes

PLAIN_BPS = 8e6 * PLAIN / SLOT_US  # of one call


class Scheme(NamedTuple):
    """Protection of each call: earlier frames in each packet, a copy of each `copy_each`-th, a repair packet for each `covers`; 0: none."""

    name: str
    earlier: int = 0
    copy_each: int = 0
    covers: int = 0


SCHEMES = (
    Scheme("none"), Scheme("RED1", earlier=1), Scheme("RED3", earlier=3), Scheme("COPY1 within 10 %", copy_each=10),
    Scheme("COPY1", copy_each=1), Scheme("FEC5", covers=4),
)  # fmt: skip


class Shared(NamedTuple):
    """Outcome of the calls of a link.

    Attributes:
        dropped: share of all transmissions that the link dropped.
        lost: share of packets whose own transmission did not arrive.
        left: share of packets of which nothing arrived.
        queued_ms: mean time in the queue and on the link of transmissions that passed it.
    """

    dropped: float
    lost: float
    left: float
    queued_ms: float


def play(scheme: Scheme, link_bps: float, calls: int, packets: int, queue_ms: float, loss: float, run: float, seed: int) -> Shared:
    """Play calls over a link.

    Args:
        scheme: protection of every call.
        link_bps: rate of the link.
        calls: number of calls.
        packets: packets of each.
        queue_ms: length of the queue at the rate of the link.
        loss: loss of each path behind the link, 0 <= loss < 1.
        run: mean length of its runs in slots, at least 1.
        seed: of departures and losses.
    """
    draws = np.random.default_rng(seed)
    leaves_us = SLOT_US * np.arange(packets) + draws.integers(0, SLOT_US, (calls, packets))
    size = PLAIN + sum(int(earlier_bytes(frames)) for frames in range(scheme.earlier))
    # A row of the second axis: the packets themselves, their copies, and repair packets by the packet with which they leave.
    sizes = np.zeros((calls, 3, packets), np.int64)
    sizes[:, 0] = size
    if scheme.copy_each:
        sizes[:, 1, scheme.copy_each - 1 :: scheme.copy_each] = size
    if scheme.covers:
        sizes[:, 2, scheme.covers :: scheme.covers] = repair_bytes(scheme.covers, size)
    sent_us = np.broadcast_to(leaves_us[:, None], sizes.shape)
    chosen = np.flatnonzero(sizes.ravel())
    order = chosen[np.argsort(sent_us.ravel()[chosen], kind="stable")]
    departs_us = np.full(sizes.size, -1)
    departs_us[order] = departures(sent_us.ravel()[order], sizes.ravel()[order], round(link_bps), round(link_bps * queue_ms / 8000.0))
    passed = departs_us >= 0
    arrived = passed.reshape(sizes.shape) & ~_lost(draws, calls, packets, loss, run)
    return Shared(
        float(1.0 - passed[order].mean()),
        float(1.0 - arrived[:, 0].mean()),
        float(1.0 - _available(scheme, arrived).mean()),
        float((departs_us - sent_us.ravel())[passed].mean()) / 1000.0,
    )


def departures(sent_us: NDArray[np.int64], sizes: NDArray[np.int64], link_bps: int, limit_bytes: int) -> NDArray[np.int64]:
    """Return the departure of each packet from an empty drop-tail link, DROPPED without one; packets in order of time."""
    queue, capacity = allocate_queue(1), pool([constant(link_bps)], 1)
    choose_trace(capacity, 0, 0, 0)
    start_link(queue, capacity, 0, MAX_QUEUED, limit_bytes)
    departs_us = np.empty(len(sent_us), np.int64)
    _offer_all(queue, capacity, sent_us, sizes, departs_us)
    return departs_us


@allocating_kernel
def _offer_all(queue, capacity, sent_us, sizes, departs_us):
    for i in range(sent_us.size):
        departs_us[i] = offer(queue, capacity, 0, sent_us[i], sizes[i])


def _lost(draws: np.random.Generator, calls: int, packets: int, loss: float, run: float) -> NDArray[np.bool_]:
    """Return what the paths lose, as `sizes`: packets and repair packets share a path, copies have the other one."""
    lost = np.zeros((calls, 2, packets), bool)
    now = draws.random((calls, 2)) < loss
    drawn = draws.random((packets, calls, 2))
    for k in range(packets):
        now = np.where(now, drawn[k] < 1.0 - 1.0 / run, drawn[k] < loss / (run * (1.0 - loss)))
        lost[:, :, k] = now
    return lost[:, [0, 1, 0]]


def _available(scheme: Scheme, arrived: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which packets (calls, packets) arrive, or come with an earlier frame, a copy or a repair packet."""
    got, copied, repair = arrived[:, 0].copy(), arrived[:, 1], arrived[:, 2]
    for distance in range(1, scheme.earlier + 1):
        got[:, :-distance] |= arrived[:, 0, distance:]
    if scheme.copy_each:
        got |= copied
    if scheme.covers:
        whole = (got.shape[1] - 1) // scheme.covers * scheme.covers
        blocks = got[:, :whole].reshape(len(got), -1, scheme.covers)
        repaired = ((~blocks).sum(axis=2) == 1) & repair[:, scheme.covers :: scheme.covers]
        got[:, :whole] |= np.repeat(repaired, scheme.covers, axis=1)
    return got
