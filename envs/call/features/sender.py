"""Features of a sender, computed from packet feedback and its own queue, and of each packet in that queue, oldest first.

Rates are positions on the log scale between the call's minimum and maximum target, -1 to 1; delays are in units of 100 ms.

The arrival time of a packet is unknown. `to_spare` estimates its delay as half of the round trip without queueing plus all of the queueing,
since reports meet no queue: (round trip + queueing) / 2. With relative actions the packet that SBPN would consider takes the place of the
queue, its features compressed: as many for any queue.
"""

import numpy as np

from vcgym.baselines.order.sbpn import Sbpn, best_of
from vcgym.envs.call.features.layout import (
    AGE,
    DELAY,
    LIMIT,
    PER_100_MS,
    PER_SECOND,
    SHARE,
    Feature,
    columns,
    compressed,
    factors,
    rate_position,
    within,
)
from vcgym.envs.call.sender.in_flight import ring_index
from vcgym.network.bottleneck.send_queue import AUDIO, item_at
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_KEEPS = 7.0 / 8.0  # RFC 6298 2.3
_FLOOR_RISES = 5.0  # us per ms: rate at which the running minimum delay rises


@record
class FeedbackStats:
    """Statistics of a sender."""

    reports: int = 0
    report_us: int = 0  # time of the newest report
    span_us: int = 0  # time since the previous report
    packets: int = 0  # packets in the newest report
    lost: int = 0
    bytes: int = 0
    newest_us: int = -1  # one-way delay of the newest packet
    newest_sent_us: int = -1
    floor_us: float = 0.0
    queueing_us: float = 0.0  # smoothed delay above the running minimum
    before_us: float = 0.0  # the same at the previous report
    rate_bps: float = 0.0  # smoothed delivery rate
    lost_share: float = 0.0  # smoothed


@kernel
def on_report(stats, report_us):
    """Start a new report and add the previous one to the smoothed values."""
    if stats.packets > 0 and stats.span_us > 0:
        rate_bps = stats.bytes * 8e6 / stats.span_us
        share = stats.lost / stats.packets
        first = stats.reports <= 1
        stats.rate_bps = rate_bps if first else _KEEPS * stats.rate_bps + (1.0 - _KEEPS) * rate_bps
        stats.lost_share = share if first else _KEEPS * stats.lost_share + (1.0 - _KEEPS) * share
    stats.before_us = stats.queueing_us
    stats.span_us = report_us - stats.report_us
    stats.report_us = report_us
    stats.reports += 1
    stats.packets = stats.lost = stats.bytes = 0


@kernel
def on_feedback(stats, feedback):
    """Update with one packet of the newest report."""
    stats.packets += 1
    if feedback.arrived_us < 0:
        stats.lost += 1
        return
    stats.bytes += feedback.size_bytes
    delay_us = np.float64(feedback.arrived_us - feedback.sent_us)
    if stats.newest_us < 0:
        stats.floor_us = delay_us
    else:
        rises_us = _FLOOR_RISES * (feedback.sent_us - stats.newest_sent_us) / 1000.0
        stats.floor_us = min(stats.floor_us + max(rises_us, 0.0), delay_us)
    stats.queueing_us = _KEEPS * stats.queueing_us + (1.0 - _KEEPS) * (delay_us - stats.floor_us)
    stats.newest_us, stats.newest_sent_us = feedback.arrived_us - feedback.sent_us, feedback.sent_us


RATE_FEATURES = (
    Feature("target", "position on the log scale of targets, -1 to 1", -1, 1, "0"),
    Feature("delivered_newest", "position on the log scale of targets, rate delivered of the newest report", -1, 1, "report_age"),
    Feature("delivered", "position on the log scale of targets, smoothed over the reports before", -1, 1, "report_age, 8 reports"),
    Feature("lost_newest", "share of the packets of the newest report", 0, 1, "report_age", *SHARE),
    Feature("lost", "share, smoothed over the reports before", 0, 1, "report_age, 8 reports", *SHARE),
    Feature("queueing_delay", "100 ms, smoothed delay above the minimum", 0, LIMIT, "report_age, 8 packets", *DELAY),
    Feature("queueing_change", "100 ms, of queueing_delay since the report before", -LIMIT, LIMIT, "report_age", *DELAY),
    Feature("excess", "100 ms, newest delay above the minimum", 0, LIMIT, "report_age", *DELAY),
    Feature("rtt", "100 ms, smoothed round trip", 0, LIMIT, "report_age, 10 reports", 1.0, "100 ms"),
    Feature("report_age", "s, since the newest report was made", 0, LIMIT, "0", *AGE),
    Feature("reported", "1 once a report has come", 0, 1, "0"),
    Feature("waiting", "100 ms, queued bits over the target", 0, LIMIT, "0", *DELAY),
    Feature("oldest_age", "expiry times, of the packet that waits longest", 0, LIMIT, "0", 1.0, "expiry times"),
    Feature("elapsed", "share of the call", 0, 1, "0"),
)
ORDER_FEATURES = (
    *RATE_FEATURES,
    Feature("since_sent", "100 ms, since a packet left", 0, LIMIT, "0", 1.0, "100 ms"),
    Feature("filled", "share of the sender's queue that is full", 0, 1, "0"),
)
SENDER = columns(ORDER_FEATURES)  # RATE_FEATURES come first
RATE_WIDTH = len(RATE_FEATURES)
_FACTOR = factors(ORDER_FEATURES)
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
def packet_ages(item, now_us):
    """Return age and time left of a queued packet, in units of its expiry time."""
    lasts_us = max(item.expires_us - item.created_us, 1)
    return (now_us - item.created_us) / lasts_us, (item.expires_us - now_us) / lasts_us


@kernel
def write_sender(sender, row):
    """Write RATE_FEATURES of a sender (of SenderState) into the first columns of `row`."""
    state, now_us = sender.stats, sender.now_us
    has_report = state.reports > 0
    newest_bps = state.bytes * 8e6 / state.span_us if state.span_us > 0 else 0.0
    smoothed_bps = state.rate_bps if state.reports > 1 else newest_bps
    row[SENDER.target] = rate_position(sender.target_bps, sender.min_bps, sender.max_bps)
    row[SENDER.delivered_newest] = rate_position(newest_bps, sender.min_bps, sender.max_bps)
    row[SENDER.delivered] = rate_position(smoothed_bps, sender.min_bps, sender.max_bps)
    row[SENDER.lost_newest] = state.lost / state.packets if state.packets > 0 else 0.0
    row[SENDER.lost] = state.lost_share
    row[SENDER.queueing_delay] = within(state.queueing_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    row[SENDER.queueing_change] = within((state.queueing_us - state.before_us) * 0.001 * PER_100_MS, -LIMIT, LIMIT)
    excess_us = state.newest_us - state.floor_us if state.newest_us >= 0 else 0.0
    row[SENDER.excess] = within(excess_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    row[SENDER.rtt] = within(sender.rtt_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    row[SENDER.report_age] = within((now_us - state.report_us) * PER_SECOND if has_report else LIMIT, 0.0, LIMIT)
    row[SENDER.reported] = 1.0 if has_report else 0.0
    row[SENDER.waiting] = within(sender.queue.bytes * 80.0 / sender.target_bps, 0.0, LIMIT)
    age = 0.0
    if sender.queue.waiting > 0:
        age, _ = packet_ages(item_at(sender.queue, 0), now_us)
    row[SENDER.oldest_age] = within(age, 0.0, LIMIT)
    row[SENDER.elapsed] = within(now_us / sender.ends_us, 0.0, 1.0)


@kernel
def observe_senders(senders, which, out):
    """Write RATE_FEATURES of each session in `which` into its row of `out` (sessions, features)."""
    for s in which:
        write_sender(senders[s], out[s])


@kernel
def observe_order_senders(senders, flight, which, out):
    """Write ORDER_FEATURES of each session in `which` into its row of `out` (sessions, features)."""
    for s in which:
        sender = senders[s]
        write_sender(sender, out[s])
        since_us = sender.now_us - flight.sent_us[s, ring_index(sender.packets - 1)] if sender.packets > 0 else sender.now_us
        out[s, SENDER.since_sent] = within(since_us * 0.001 * PER_100_MS, 0.0, LIMIT)
        out[s, SENDER.filled] = sender.queue.waiting / sender.queue.limit


@kernel
def compress_senders(which, rows):
    """Compress RATE_FEATURES or ORDER_FEATURES of each session in `which` in its row of `rows` (sessions, features)."""
    for s in which:
        for i in range(rows.shape[1]):
            if _FACTOR[i] > 0.0:
                rows[s, i] = compressed(rows[s, i] * _FACTOR[i])


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
