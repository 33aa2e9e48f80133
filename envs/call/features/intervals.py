"""Observation of the Bandwidth Estimation Challenge (ACM MMSys 2024, arXiv 2403.06324): statistics of the receiver's last intervals.

Fifteen numbers for each of five intervals of 60 ms and five of 600 ms, newest first, which end at the time of the newest report; 0 if
nothing arrived. A packet belongs to the interval of its arrival, a lost packet to that of the next arrival, a gap to that of its end.
"""

import math

from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.sender.events import is_done
from vcgym.envs.call.sender.in_flight import LOST, MAX_IN_FLIGHT, ring_index
from vcgym.network.bottleneck.send_queue import AUDIO
from vcgym.network.kernels.jit import kernel

SHORT_US, LONG_US = 60_000, 600_000
INTERVALS = 5  # of each length
BASE_MS = 200.0  # constant that the challenge subtracts from delays
MEASURES = (
    Feature("rate", "bit/s", 0, 1e9, "report_age"),
    Feature("packets", "count", 0, 8192, "report_age"),
    Feature("bytes", "bytes", 0, 1e8, "report_age"),
    Feature("queueing", "ms, mean delay less the smallest so far", 0, 1e5, "report_age"),
    Feature("delay", f"ms, mean delay less {BASE_MS:g}", -BASE_MS, 1e5, "report_age"),
    Feature("smallest", "ms, smallest delay so far", 0, 1e5, "report_age"),
    Feature("delay_ratio", "mean delay over the smallest of the interval", 0, 1e5, "report_age"),
    Feature("delay_above", "ms, mean delay less the smallest of the interval", 0, 1e5, "report_age"),
    Feature("gap", "ms, mean time between arrivals", 0, 1e5, "report_age"),
    Feature("jitter", "ms, standard deviation of the time between arrivals", 0, 1e5, "report_age"),
    Feature("lost", "share", 0, 1, "report_age"),
    Feature("lost_in_a_row", "count, mean", 0, 8192, "report_age"),
    Feature("video", "share of packets", 0, 1, "report_age"),
    Feature("audio", "share of packets", 0, 1, "report_age"),
    Feature("probing", "share of packets; there are none", 0, 1, "report_age"),
)
_ENDS = tuple((length_us, i) for length_us in (SHORT_US, LONG_US) for i in range(INTERVALS))
INTERVAL_FEATURES = tuple(
    measure._replace(name=f"{measure.name}[{length_us // 1000} ms, {i}]") for measure in MEASURES for length_us, i in _ENDS
)


@kernel
def observe_intervals(senders, flight, which, seen, smallest_us, out):
    """Write INTERVAL_FEATURES of each session in `which` into its row of `out` (sessions, features).

    `seen`, (sessions,), is the number of packets that are in `smallest_us`, (sessions,), the minimum delay so far; below 0: none.
    """
    for s in which:
        sender = senders[s]
        if is_done(sender):  # outcomes counted at the end were never reported
            continue
        for packet in range(seen[s], sender.reported):
            index = ring_index(packet)
            delay_us = flight.arrived_us[s, index] - flight.sent_us[s, index]
            if flight.arrived_us[s, index] != LOST and (smallest_us[s] < 0 or delay_us < smallest_us[s]):
                smallest_us[s] = delay_us
        seen[s] = sender.reported
        first = _first_since(sender, flight, s, sender.stats.report_us - INTERVALS * LONG_US)
        for i in range(2 * INTERVALS):
            length_us = SHORT_US if i < INTERVALS else LONG_US
            to_us = sender.stats.report_us - (i % INTERVALS) * length_us
            _measure(flight, s, first, sender.reported, to_us - length_us, to_us, smallest_us[s], out[s, i :: 2 * INTERVALS])


@kernel
def _first_since(sender, flight, s, from_us):
    """Return the packet after the last one that arrived by `from_us`."""
    first = sender.reported
    while first > max(0, sender.packets - MAX_IN_FLIGHT):
        arrived_us = flight.arrived_us[s, ring_index(first - 1)]
        if LOST != arrived_us <= from_us:
            return first
        first -= 1
    return first


@kernel
def _measure(flight, s, first, past, from_us, to_us, smallest_us, row):
    """Write the measures of packets from `first` on that arrived after `from_us` and by `to_us`."""
    packets = size_bytes = audio = lost = runs = run = gaps = 0
    delay_us = gap_us = squares = 0.0
    min_us, before_us = -1, flight.arrived_us[s, ring_index(first - 1)] if first > 0 else LOST
    for packet in range(first, past):
        index = ring_index(packet)
        arrived_us = flight.arrived_us[s, index]
        if arrived_us == LOST:
            run += 1
            continue
        if from_us < arrived_us <= to_us:
            one_us = arrived_us - flight.sent_us[s, index]
            packets += 1
            size_bytes += flight.size_bytes[s, index]
            audio += flight.kind[s, index] == AUDIO
            lost, runs = lost + run, runs + (run > 0)
            delay_us += one_us
            min_us = one_us if min_us < 0 else min(min_us, one_us)
            if before_us != LOST:
                gaps += 1
                gap_us += arrived_us - before_us
                squares += (arrived_us - before_us) * (arrived_us - before_us) * 1.0
        run, before_us = 0, arrived_us
    for measure in range(row.size):
        row[measure] = 0.0
    if packets == 0:
        return
    mean_ms, gap_ms = delay_us / packets * 1e-3, gap_us / max(gaps, 1) * 1e-3
    row[0], row[1], row[2] = size_bytes * 8e6 / (to_us - from_us), packets, size_bytes
    row[3], row[4], row[5] = mean_ms - smallest_us * 1e-3, mean_ms - BASE_MS, smallest_us * 1e-3
    row[6], row[7] = min(mean_ms / max(min_us * 1e-3, 1e-3), 1e5), mean_ms - min_us * 1e-3
    row[8], row[9] = gap_ms, math.sqrt(max(squares / max(gaps, 1) * 1e-6 - gap_ms * gap_ms, 0.0))
    row[10], row[11] = lost / (lost + packets), lost / max(runs, 1)
    row[12], row[13] = 1.0 - audio / packets, audio / packets
