"""Features for an agent that sets the protection: what its own packets lost, and what the budget still holds.

A packet is judged 64 packets after it: lost if its record has not reached the location by then. So packets that were overtaken are not
lost, and the length of a run of losses is exact. The shares are exponential averages over 512 judged packets.
"""

import numpy as np

from vcgym.baselines.records import MEDIA, read_record
from vcgym.envs.call.features.layout import Feature, ObservationPart, compressed
from vcgym.envs.call.paths.feed import KNOWN, RECORDS, in_force
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import SLOT_US

JUDGED_AFTER = 64
_GAIN = 1.0 / 512.0

LOSSES_PART = ObservationPart(
    "losses",
    (
        Feature("lost_share", "percent, compressed: packets lost", 0, 1, "record_age, 64 to 576 packets"),
        Feature("loss_run", "packets beyond the first, compressed: mean run of losses", 0, 1, "record_age, 64 to 576 packets"),
        Feature("overtaken_share", "percent, compressed: packets that arrived after a newer one", 0, 1, "record_age, 512 packets"),
        Feature("tokens", "share of the bytes that the bucket of the budget can hold", 0, 1, "command, one decision"),
    ),
)


@record
class LossStats:
    """State from which the features are computed."""

    newest: int = -1  # largest packet number reported, -1 before
    there: np.uint64 = np.uint64(0)  # bit d: packet newest - d has been reported
    before: int = 0  # 1: the packet judged last was lost
    lost: float = 0.0
    runs: float = 0.0  # runs of losses per packet
    overtaken: float = 0.0


@kernel
def see_packet(row, packet):
    """Take in that a packet has arrived by its own transmission."""
    if packet < row.newest:
        age = row.newest - packet
        if age < JUDGED_AFTER:
            row.there |= np.uint64(1) << np.uint64(age)
        row.overtaken += _GAIN * (1.0 - row.overtaken)
        return
    while row.newest < packet:
        if row.newest >= JUDGED_AFTER - 1:
            lost = 1 - np.int64(row.there >> np.uint64(JUDGED_AFTER - 1))
            row.lost += _GAIN * (lost - row.lost)
            row.runs += _GAIN * (lost * (1 - row.before) - row.runs)
            row.before = lost
        row.there <<= np.uint64(1)
        row.newest += 1
    row.there |= np.uint64(1)
    row.overtaken -= _GAIN * row.overtaken


@kernel
def observe_losses(calls, which, seen, protected, out):
    """Take in the records that have reached the location since the last decision, and write `LOSSES_PART`; others read them later.

    `seen`: (sessions,) of LossStats. `protected`: (sessions,) of ProtectedCall; what the bucket held is received. `out`: float32 (sessions,
    features).
    """
    for s in which:
        call, row, sent = calls[s], seen[s], protected[s]
        feed, now_us = call.feed, call.slot * SLOT_US
        unread = feed.read
        while unread < feed.written and feed.rows[unread & (RECORDS - 1), KNOWN] <= now_us:
            record = read_record(feed.rows, unread & (RECORDS - 1))
            if record.kind == MEDIA:
                see_packet(row, record.packet)
            unread += 1
        out[s, 0] = compressed(100.0 * row.lost)
        out[s, 1] = compressed(max(row.lost / row.runs - 1.0, 0.0)) if row.runs > 0.0 else 0.0
        out[s, 2] = compressed(100.0 * row.overtaken)
        out[s, 3] = in_force(sent.tokens, now_us) / sent.most if sent.most > 0 else 0.0
