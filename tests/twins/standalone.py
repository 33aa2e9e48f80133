"""A receiver rule alone on a list of packets: its levels, its late packets, and the emission time of each packet.

Watermark (Algorithm 1 of WMJitter, arXiv 2310.05054), per arrival: a packet older than the watermark is late and dropped. Otherwise it is
inserted, the rule is updated and decides a lag, the watermark rises to at least (sent time - lag), and all packets up to the watermark
are emitted, oldest first.

Count buffer, per arrival: a packet older than the last emitted one is late and dropped. Otherwise it is inserted, and the oldest packets
are emitted while the buffer holds at least ceil(target / packet) + 1 packets.

Published count buffer, per arrival: the rule is updated and decides a target, the oldest packets are emitted while more than
target / packet are held, and the packet is inserted. A packet emitted behind a newer one is late; on arrival it is not marked so.

The rule is updated with late packets, marked late, but its decision then has no effect. After the last arrival all held packets are
emitted, oldest first. Nothing happens between arrivals.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import allocate, buffer_type, decide, start, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.receiver import COUNT, PUBLISHED, packets_held


class Emissions(NamedTuple):
    """Arrays with one entry per packet, in order of arrival."""

    level_us: NDArray[np.int64]  # lag or target in force after the arrival
    emitted_us: NDArray[np.int64]  # -1 for a late packet
    late: NDArray[np.bool_]
    flushed: NDArray[np.bool_]  # emitted only at the end of the list


def levels(params: Any, sent_us: ArrayLike, arrived_us: ArrayLike, packet_us: int = 10_000) -> NDArray[np.int64]:
    """Return the lag or target (us, int64) of receiver rule `params` after each arrival; see `emissions` for the arguments."""
    return emissions(params, sent_us, arrived_us, packet_us).level_us


def emissions(params: Any, sent_us: ArrayLike, arrived_us: ArrayLike, packet_us: int = 10_000) -> Emissions:
    """Run receiver rule `params` over packets given in order of arrival.

    Args:
        params: a receiver rule, such as `WMJitter()`.
        sent_us: (packets,) int64 sent times.
        arrived_us: (packets,) int64 arrival times, never decreasing. Lost packets are not in the list.
        packet_us: packet interval, which numbers the packets and says what a count buffer holds.
    """
    sent, arrived = np.asarray(sent_us, np.int64), np.asarray(arrived_us, np.int64)
    count = sent.size
    result = Emissions(np.zeros(count, np.int64), np.full(count, -1, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    state = allocate(params, 1, 1)
    start(params, state, np.ones(1, np.bool_), np.zeros((1, 1, 3)), np.zeros(1, np.uint64))
    _receive(params, state, sent, arrived, packet_us, np.empty(sent.size, np.int64), result)
    return result


@kernel
def _receive(params, state, sent_us, arrived_us, packet_us, waiting, result):
    first, end = 0, 0  # held packets by sent time: waiting[first:end]
    passed_us = np.iinfo(np.int64).min  # the watermark, or the sent time of the last emitted packet
    level_us = decide(params, state, 0, 0)
    for i in range(sent_us.size):
        result.late[i] = sent_us[i] < passed_us and buffer_type(params) != PUBLISHED
        record = Record(MEDIA, sent_us[i] // packet_us, 0, sent_us[i], arrived_us[i], arrived_us[i], level_us, int(result.late[i]))
        update(params, state, 0, record)
        level_us = decide(params, state, 0, arrived_us[i])
        result.level_us[i] = level_us
        if result.late[i]:
            continue
        if buffer_type(params) == PUBLISHED:
            while (end - first) * packet_us > level_us:
                oldest = waiting[first]
                result.late[oldest] = sent_us[oldest] < passed_us
                if not result.late[oldest]:
                    result.emitted_us[oldest] = arrived_us[i]
                    passed_us = sent_us[oldest]
                first += 1
            end = _insert(waiting, first, end, sent_us, i)
            continue
        end = _insert(waiting, first, end, sent_us, i)
        if buffer_type(params) == COUNT:
            going = max(0, end - first + 1 - packets_held(level_us, packet_us))
            if going > 0:
                passed_us = sent_us[waiting[first + going - 1]]
        else:
            passed_us = max(passed_us, sent_us[i] - level_us)
            going = 0
            while first + going < end and sent_us[waiting[first + going]] <= passed_us:
                going += 1
        for w in range(first, first + going):
            result.emitted_us[waiting[w]] = arrived_us[i]
        first += going
    for w in range(first, end):
        result.late[waiting[w]] = sent_us[waiting[w]] < passed_us and buffer_type(params) == PUBLISHED
        if not result.late[waiting[w]]:
            result.emitted_us[waiting[w]] = arrived_us[-1]
            result.flushed[waiting[w]] = True


@kernel
def _insert(waiting, first, end, sent_us, packet):
    """Insert `packet` into the sorted slice `waiting[first:end]`, after equal ones; return the new end."""
    index = end
    while index > first and sent_us[waiting[index - 1]] > sent_us[packet]:
        waiting[index] = waiting[index - 1]
        index -= 1
    waiting[index] = packet
    return end + 1
