"""Records as an observation: for Rate the packet feedback since the last decision, for SendOrder the queued packets."""

from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback
from vcgym.envs.call.sender.events import is_done
from vcgym.envs.call.sender.in_flight import LOST, ring_index
from vcgym.network.bottleneck.send_queue import item_at
from vcgym.network.kernels.jit import kernel

MAX_FEEDBACK_ROWS = 2048
FEEDBACK_WIDTH, ITEM_WIDTH = len(PacketFeedback._fields), 5


@kernel
def show_feedback(senders, flight, which, reported, records, count):
    """Write the packet feedback since `reported` (sessions,), in order of sending, as rows of `PacketFeedback`; return False if too many.

    Args:
        senders: (sessions,) of SENDER.
        flight: the packets.
        which: sessions.
        reported: (sessions,), number of packets known to the agent; updated.
        records: (sessions, MAX_FEEDBACK_ROWS, FEEDBACK_WIDTH).
        count: (sessions,).
    """
    for s in which:
        sender = senders[s]
        count[s] = 0
        first, reported[s] = reported[s], sender.reported
        if is_done(sender):  # outcomes counted at the end were never reported
            continue
        if sender.reported - first > records.shape[1]:
            return False
        for packet in range(first, sender.reported):
            index, row = ring_index(packet), records[s, count[s]]
            arrived_us = flight.arrived_us[s, index]
            row[0], row[1], row[2] = packet, flight.size_bytes[s, index], flight.sent_us[s, index]
            row[3], row[4] = arrived_us if arrived_us != LOST else NOT_ARRIVED, sender.now_us
            row[5] = flight.marked[s, index]
            count[s] += 1
    return True


@kernel
def show_queue(senders, which, records, count):
    """Write the queued packets, oldest first.

    Args:
        senders: (sessions,) of SENDER; read only.
        which: int64 (n,), sessions.
        records: int64 (sessions, limit of the queue, ITEM_WIDTH), rows (created_us, expires_us, size_bytes, kind, frame); the first
            `count` are written.
        count: int64 (sessions,), number of queued packets, overwritten.
    """
    for s in which:
        queue = senders[s].queue
        count[s] = queue.waiting
        for i in range(queue.waiting):
            item, row = item_at(queue, i), records[s, i]
            row[0], row[1], row[2], row[3], row[4] = item.created_us, item.expires_us, item.size_bytes, item.kind, item.frame
