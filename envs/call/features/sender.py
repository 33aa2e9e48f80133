"""Features of a sender's agent, from what reports have told and from what waits in its own queue.

The layout is data: the Box, the docs table and the tests read it. For SendOrder the features of the waiting packets come first, place after
place, oldest first, then those of the call, which Rate has too. Rates stand on the log scale between the call's least and largest target,
-1 to 1; delays are in units of 100 ms.

When a packet would arrive is not known. `to_spare` takes half of what the round trip is without queueing, and all of the queueing, since
reports meet no queue: (round trip + queueing) / 2.
"""

import math

from vcgym.envs.call.features.path import LIMIT, PER_100_MS, PER_SECOND, Feature
from vcgym.envs.call.sender.in_flight import place_of
from vcgym.network.bottleneck.send_queue import AUDIO, item_at
from vcgym.network.kernels.jit import kernel

PLACE_FEATURES = (
    Feature("present", "1 if a packet waits here", 0, 1, "0"),
    Feature("audio", "1 if it is audio", 0, 1, "0"),
    Feature("age", "expiry times, since its capture", 0, LIMIT, "0"),
    Feature("time_left", "expiry times, until it is worthless", -LIMIT, 1, "0"),
    Feature("to_spare", "expiry times, between its likely arrival if it left now and its expiry", -LIMIT, 1, "report_age"),
    Feature("size", "1000 bytes", 0, LIMIT, "0"),
    Feature("alone", "1 if nothing else waits", 0, 1, "0"),
)
RATE_FEATURES = (
    Feature("target", "place on the log scale of targets, -1 to 1", -1, 1, "0"),
    Feature("delivered_newest", "place on the log scale of targets, rate that the newest report tells of", -1, 1, "report_age"),
    Feature("delivered", "place on the log scale of targets, smoothed over the reports before", -1, 1, "report_age, 8 reports"),
    Feature("lost_newest", "share of the packets that the newest report tells of", 0, 1, "report_age"),
    Feature("lost", "share, smoothed over the reports before", 0, 1, "report_age, 8 reports"),
    Feature("queueing_delay", "100 ms, smoothed delay above the least", 0, LIMIT, "report_age, 8 packets"),
    Feature("queueing_change", "100 ms, of queueing_delay since the report before", -LIMIT, LIMIT, "report_age"),
    Feature("excess", "100 ms, newest delay above the least", 0, LIMIT, "report_age"),
    Feature("rtt", "100 ms, smoothed round trip", 0, LIMIT, "report_age, 10 reports"),
    Feature("report_age", "s, since the newest report was made", 0, LIMIT, "0"),
    Feature("reported", "1 once a report has come", 0, 1, "0"),
    Feature("waiting", "100 ms, what waits to be sent over the target", 0, LIMIT, "0"),
    Feature("oldest_age", "expiry times, of the packet that waits longest", 0, LIMIT, "0"),
    Feature("elapsed", "share of the call", 0, 1, "0"),
)
ORDER_FEATURES = (
    *RATE_FEATURES,
    Feature("since_sent", "100 ms, since a packet left", 0, LIMIT, "0"),
    Feature("filled", "share of the places that the sender's queue has", 0, 1, "0"),
)
PLACE_WIDTH, RATE_WIDTH = len(PLACE_FEATURES), len(RATE_FEATURES)


def order_layout(places: int) -> list[Feature]:
    """The features of SendOrder in order, with so many places in its queue."""
    of_places = [feature._replace(name=f"{feature.name}[{i}]") for i in range(places) for feature in PLACE_FEATURES]
    return [*of_places, *ORDER_FEATURES]


@kernel
def rate_place(sender, bps):
    """Place of a rate on the log scale of targets, -1 (the least or less) to 1 (the largest or more)."""
    if sender.most_bps <= sender.least_bps:
        return 0.0
    inside = min(max(bps, sender.least_bps), sender.most_bps)
    return 2.0 * math.log(inside / sender.least_bps) / math.log(sender.most_bps / sender.least_bps) - 1.0


@kernel
def _put(out, s, i, value, low, high):
    out[s, i] = min(max(value, low), high)


@kernel
def _ages(item, now_us):
    lasts_us = max(item.expires_us - item.created_us, 1)
    return (now_us - item.created_us) / lasts_us, (item.expires_us - now_us) / lasts_us


@kernel
def write_sender(sender, s, first, out):
    """Write RATE_FEATURES into row `s` of `out`, from column `first` on."""
    senses, now_us = sender.senses, sender.now_us
    heard = senses.reports > 0
    newest_bps = senses.bytes * 8e6 / senses.span_us if senses.span_us > 0 else 0.0
    out[s, first] = rate_place(sender, sender.target_bps)
    out[s, first + 1] = rate_place(sender, newest_bps)
    out[s, first + 2] = rate_place(sender, senses.rate_bps if senses.reports > 1 else newest_bps)
    out[s, first + 3] = senses.lost / senses.packets if senses.packets > 0 else 0.0
    out[s, first + 4] = senses.lost_share
    _put(out, s, first + 5, senses.queueing_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 6, (senses.queueing_us - senses.before_us) * 0.001 * PER_100_MS, -LIMIT, LIMIT)
    excess_us = senses.newest_us - senses.floor_us if senses.newest_us >= 0 else 0.0
    _put(out, s, first + 7, excess_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 8, sender.rtt_us * 0.001 * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 9, (now_us - senses.report_us) * PER_SECOND if heard else LIMIT, 0.0, LIMIT)
    out[s, first + 10] = 1.0 if heard else 0.0
    _put(out, s, first + 11, sender.queue.bytes * 80.0 / sender.target_bps, 0.0, LIMIT)
    age = 0.0
    if sender.queue.waiting > 0:
        age, _ = _ages(item_at(sender.queue, 0), now_us)
    _put(out, s, first + 12, age, 0.0, LIMIT)
    _put(out, s, first + 13, now_us / sender.ends_us, 0.0, 1.0)


@kernel
def observe_rate(senders, which, out):
    """Features of Rate: write row `s` of `out` for each session of `which`."""
    for s in which:
        write_sender(senders[s], s, 0, out)


@kernel
def observe_order(senders, flight, places, which, out):
    """Features of SendOrder, with `places` places in the queue."""
    for s in which:
        sender = senders[s]
        way_us = (sender.rtt_us + sender.senses.queueing_us) / 2.0
        for i in range(places):
            first = i * PLACE_WIDTH
            for k in range(PLACE_WIDTH):
                out[s, first + k] = 0.0
            if i < sender.queue.waiting:
                item = item_at(sender.queue, i)
                age, left = _ages(item, sender.now_us)
                out[s, first] = 1.0
                out[s, first + 1] = 1.0 if item.kind == AUDIO else 0.0
                _put(out, s, first + 2, age, 0.0, LIMIT)
                _put(out, s, first + 3, left, -LIMIT, 1.0)
                _put(out, s, first + 4, left - way_us / max(item.expires_us - item.created_us, 1), -LIMIT, 1.0)
                _put(out, s, first + 5, item.size_bytes * 0.001, 0.0, LIMIT)
                out[s, first + 6] = 1.0 if sender.queue.waiting == 1 else 0.0
        first = places * PLACE_WIDTH
        write_sender(sender, s, first, out)
        since_us = sender.now_us - flight.sent_us[s, place_of(sender.packets - 1)] if sender.packets > 0 else sender.now_us
        _put(out, s, first + RATE_WIDTH, since_us * 0.001 * PER_100_MS, 0.0, LIMIT)
        out[s, first + RATE_WIDTH + 1] = sender.queue.waiting / sender.queue.limit
