"""Reports of a sender's packets, and their outcomes.

The receiver collects feedback between reports; a report has the outcome of every packet up to the newest that has arrived, so nothing is
known early. Packets of a lost report are included in the next one. Reports meet no queue, unless the world has a bottleneck in the reverse
direction or a medium shared by both, which they pass as packets of REPORT_BYTES.
"""

import numpy as np

from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback
from vcgym.baselines.rule import NEVER_US, report_every_us, update
from vcgym.envs.call.features.sender import on_feedback, on_report
from vcgym.envs.call.sender.in_flight import LOST, NO_QUEUE, followed_by_paths, reported_by, ring_index
from vcgym.envs.call.sender.state import REPORTS, counted, of_one, on_medium
from vcgym.network.bottleneck.impairments import delay_at, with_loss_at
from vcgym.network.bottleneck.queue import DROPPED, offer
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel

REPORT_BYTES = 80  # headers and the arrivals of 50 ms at 1 Mbit/s, in the format of RFC 8888
_REPORTS_MASK = REPORTS - 1
_RTT_KEEPS = 0.9  # weight of the previous round trip, RFC 5348 4.3


@kernel
def next_report_us(sender, tables):
    """Return the time at which the next report arrives, or enters a reverse queue."""
    if sender.reverse == NO_QUEUE and followed_by_paths(tables.departures):
        return sender.report_us + sender.backward_us
    if sender.reverse == NO_QUEUE:
        made_us = sender.begins_us + sender.report_us
        return sender.report_us + sender.backward_us + delay_at(tables.dumbbell.capacity, sender.bottleneck, made_us)
    if sender.reports == sender.made:
        return sender.report_us
    return min(sender.report_us, sender.back_us[sender.reports & _REPORTS_MASK])


@kernel
def send_report(sender, tables, s, rate, rate_state):
    """Send a report through the reverse bottleneck; if it is dropped, the next report includes its packets."""
    taken = on_medium(sender, REPORT_BYTES)
    out_us = offer(tables.dumbbell.queue, tables.dumbbell.capacity, sender.reverse, sender.begins_us + sender.now_us, taken)
    if out_us != DROPPED and sender.made - sender.reports < REPORTS:
        index = sender.made & _REPORTS_MASK
        sender.made_us[index], sender.back_us[index] = sender.report_us, out_us - sender.begins_us + sender.backward_us
        sender.made += 1
    sender.report_us += report_every_us(rate, rate_state, s, sender.default_report_every_us)


@kernel
def take_report(sender, tables, s, rate, rate_state):
    """Process an arrived report; return False if it was lost or empty."""
    flight, now_us, number = tables.flight, sender.now_us, sender.reports
    sender.reports += 1
    if sender.reverse == NO_QUEUE:
        report_us = sender.report_us
        sender.report_us = report_us + report_every_us(rate, rate_state, s, sender.default_report_every_us)
    else:
        report_us = sender.made_us[number & _REPORTS_MASK]
    loss = sender.report_loss
    if sender.reverse == NO_QUEUE and not followed_by_paths(tables.departures):
        loss = with_loss_at(tables.dumbbell.capacity, sender.bottleneck, sender.begins_us + report_us, loss)
    if loss > 0.0 and rng.uniform(rng.stream_key(sender.seed, 0, rng.FEEDBACK), number) < loss:
        return False
    past = reported_by(flight, s, sender.reported, sender.packets, report_us)
    if past == sender.reported:
        return False
    min_rtt_us = np.int64(NEVER_US)
    on_report(sender.stats, report_us)
    for packet in range(sender.reported, past):
        index = ring_index(packet)
        arrived_us = flight.arrived_us[s, index]
        arrived = LOST != arrived_us <= report_us
        sent_us, size = flight.sent_us[s, index], flight.size_bytes[s, index]
        marked = int(flight.marked[s, index] if arrived else 0)
        feedback = PacketFeedback(packet, of_one(sender, size), sent_us, int(arrived_us if arrived else NOT_ARRIVED), now_us, marked)
        update(rate, rate_state, s, feedback)
        on_feedback(sender.stats, feedback)
        sender.reported_bytes += size
        if followed_by_paths(tables.departures):
            tables.departures.reported_us[s, index], tables.departures.known_us[s, index] = feedback.arrived_us, now_us
        else:
            settle_packet(sender, flight, s, index)
        if arrived:
            min_rtt_us = min(min_rtt_us, now_us - sent_us)
    sender.reported = past
    if min_rtt_us < NEVER_US:
        sample = np.float64(min_rtt_us)
        sender.rtt_us = sample if sender.rtt_us == 0.0 else _RTT_KEEPS * sender.rtt_us + (1.0 - _RTT_KEEPS) * sample
    return True


@kernel
def settle_packet(sender, flight, s, index):
    """Count the outcome of the packet at a ring index, which is known."""
    if not counted(sender, flight.created_us[s, index]):
        return
    counts = sender.counts[flight.kind[s, index]]
    arrived_us = flight.arrived_us[s, index]
    if arrived_us == LOST:
        counts.lost += 1
        return
    counts.delivered += 1
    if arrived_us <= flight.expires_us[s, index]:
        counts.on_time += 1
        counts.bytes_on_time += flight.size_bytes[s, index]
    counts.bytes_delivered += flight.size_bytes[s, index]
    counts.delay_us += arrived_us - flight.created_us[s, index]
