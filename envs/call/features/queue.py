"""Features of each packet in the sender's queue, oldest first.

The arrival time of a packet is unknown. `to_spare` estimates its delay as half of the round trip without queueing plus all of the queueing,
since reports meet no queue: (round trip + queueing) / 2.

With relative actions the packet that SBPN would consider takes the place of the queue, its features compressed: as many for any queue.
"""

from vcgym.baselines.order.sbpn import Sbpn, best_of
from vcgym.envs.call.features.layout import Feature, columns, factors
from vcgym.envs.call.features.scales import LIMIT, compressed, within
from vcgym.envs.call.features.sender import packet_ages
from vcgym.network.bottleneck.send_queue import AUDIO, item_at
from vcgym.network.kernels.jit import kernel

QUEUE_FEATURES = (
    Feature("present", "1 if a packet waits here", 0, 1, "0"),
    Feature("audio", "1 if it is audio", 0, 1, "0"),
    Feature("age", "expiry times, since its capture", 0, LIMIT, "0", 1.0),
    Feature("time_left", "expiry times, until it is worthless", -LIMIT, 1, "0", 1.0),
    Feature("to_spare", "expiry times, between its likely arrival if it left now and its expiry", -LIMIT, 1, "report_age", 1.0),
    Feature("size", "1000 bytes", 0, LIMIT, "0", 1.0),
    Feature("alone", "1 if nothing else waits", 0, 1, "0"),
)
QUEUE = columns(QUEUE_FEATURES)
QUEUE_WIDTH = len(QUEUE_FEATURES)
_IS_LONG = factors(QUEUE_FEATURES) > 0.0
_SBPN2 = Sbpn()


@kernel
def observe_queues(senders, which, out):
    """Write QUEUE_FEATURES of each session in `which` into `out` (sessions, slots, features); zeros for empty slots."""
    for s in which:
        sender = senders[s]
        one_way_us = (sender.rtt_us + sender.stats.queueing_us) / 2.0
        for i in range(out.shape[1]):
            for column in range(QUEUE_WIDTH):
                out[s, i, column] = 0.0
            if i < sender.queue.waiting:
                write_packet(item_at(sender.queue, i), sender.now_us, one_way_us, sender.queue.waiting, out[s, i])


@kernel
def write_packet(item, now_us, one_way_us, waiting, row):
    """Write QUEUE_FEATURES of a queued packet into `row`, float32 (features,).

    `one_way_us` is its likely time from sending to arrival, `waiting` the number of packets in the queue.
    """
    age, left = packet_ages(item, now_us)
    row[QUEUE.present] = 1.0
    row[QUEUE.audio] = 1.0 if item.kind == AUDIO else 0.0
    row[QUEUE.age] = within(age, 0.0, LIMIT)
    row[QUEUE.time_left] = within(left, -LIMIT, 1.0)
    row[QUEUE.to_spare] = within(left - one_way_us / max(item.expires_us - item.created_us, 1), -LIMIT, 1.0)
    row[QUEUE.size] = within(item.size_bytes * 0.001, 0.0, LIMIT)
    row[QUEUE.alone] = 1.0 if waiting == 1 else 0.0


@kernel
def observe_best(senders, which, out):
    """Write QUEUE_FEATURES of the packet that SBPN would consider into `out` (sessions, features), compressed; zeros for an empty queue."""
    for s in which:
        sender = senders[s]
        out[s, :] = 0.0
        if sender.queue.waiting > 0:
            item = item_at(sender.queue, best_of(_SBPN2, sender.queue, sender.now_us))
            write_packet(item, sender.now_us, (sender.rtt_us + sender.stats.queueing_us) / 2.0, sender.queue.waiting, out[s])
            for i in range(out.shape[1]):
                if _IS_LONG[i]:
                    out[s, i] = compressed(out[s, i])
