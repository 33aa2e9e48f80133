"""The sender of a call over a shared bottleneck: sources fill the send queue; a rule or an agent chooses packets and rate.

Events are played in order of time. At equal times the order is: cross traffic and other calls, an arriving report, a decision requested by
the rule, capture of audio and video, a transmission opportunity. The pacer gives the next opportunity when the packet's transmission time
at the pacing rate has passed; unused opportunities are not accumulated.

A sender with `MAX_IN_FLIGHT` unreported packets, or with the window of its rule full, waits for a report. An agent that controls the rate
also decides at call set-up, before any feedback.

After the end nothing more is sent, and the outcomes of packets in flight are counted.

With a second bottleneck a packet enters its queue `hop_us` after it left the first, as an event of the call before all others.

A call of priority p is controlled as one of p equal calls: its rule learns 1 / p of the bytes, and p times its rate and window
apply (after MulTCP, Crowcroft and Oechslin, CCR 1998).

If paths follow the bottleneck (vcgym.envs.call.sender.uplink), a call is played slot by slot, up to `until_us`. The outcome of a packet is
then unknown until it leaves the bottleneck, a packet overtaken by a later one is reported as not arrived, and sending continues after the
last capture.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.from_agent import AGENT, REMOTE, is_asked, origin_of, see_reports
from vcgym.baselines.order.scheduler import choose, scheduler_of
from vcgym.baselines.records import SenderStatus
from vcgym.baselines.rule import NEVER_US, decide, pacing, see_capacity, see_sender, wake_us, window_bytes
from vcgym.envs.call.sender.capturing import audio_us, capture_due, video_us
from vcgym.envs.call.sender.in_flight import (
    LOST,
    MAX_IN_FLIGHT,
    NO_QUEUE,
    NOT_YET,
    followed_by_paths,
    on_send,
    onward_us,
    pass_on,
    ring_index,
    run_cross_traffic,
    skip_dropped,
)
from vcgym.envs.call.sender.reports import next_report_us, send_report, settle_packet, take_report
from vcgym.envs.call.sender.state import SenderTables, counted, of_one, on_medium
from vcgym.envs.call.stages import DECIDE, DONE, PAUSED, RUNNING, leave
from vcgym.network.bottleneck.cross_traffic import CARRIED, calls_wait, carry
from vcgym.network.bottleneck.queue import is_marked
from vcgym.network.bottleneck.send_queue import item_at, take_out
from vcgym.network.kernels.jit import kernel

_SET_UP, _RUNNING, _RATE_ANSWERED, _ORDER_ANSWERED, _DONE = 0, 1, 2, 3, 4

_MEAN_KEEPS = 0.9  # weight of the previous mean packet size, CCID 3


@kernel
def _send(sender, tables, s, i):
    """Send the i-th oldest packet; a transmission opportunity implies that MAX_IN_FLIGHT is not reached."""
    item = item_at(sender.queue, i)
    enters_us = sender.begins_us + sender.now_us
    marked = sender.ecn == 1 and is_marked(tables.dumbbell.queue, sender.bottleneck, enters_us)
    number, size = sender.packets, item.size_bytes
    taken = on_medium(sender, size)
    outcome, out_us = carry(tables.dumbbell, sender.bottleneck, sender.flow, number, enters_us, taken, sender.loss, number, sender.ecn)
    out_us = out_us - sender.begins_us if outcome == CARRIED else np.int64(LOST)
    # A packet in the fair queue has no departure yet, so it too counts as lost until `deliver`.
    arrived_us = np.int64(LOST)
    if out_us >= 0:
        arrived_us = np.int64(NOT_YET) if followed_by_paths(tables.departures) else out_us + sender.forward_us
    if out_us >= 0 and sender.second != NO_QUEUE:
        # No report covers it before it has left the second bottleneck; `onward_us` takes the time at which it gets there out again.
        arrived_us = np.int64(NOT_YET) + out_us + sender.hop_us
    if followed_by_paths(tables.departures):
        index = ring_index(sender.packets)
        tables.departures.out_us[s, index], tables.departures.number[s, index] = out_us, item.frame
    on_send(tables.flight, s, sender.packets, item, sender.now_us, arrived_us, marked)
    if sender.packets < tables.log.shape[1]:
        logged = tables.log[s, sender.packets]
        logged.created_us, logged.sent_us, logged.arrived_us = item.created_us, sender.now_us, arrived_us
        logged.size_bytes, logged.kind = item.size_bytes, item.kind
    sender.counts[item.kind].sent += counted(sender, item.created_us)
    sender.mean_bytes = _MEAN_KEEPS * sender.mean_bytes + (1.0 - _MEAN_KEEPS) * size
    gap_us = size * 8e6 / (sender.pacing * sender.target_bps) if sender.pacing > 0.0 else sender.mean_bytes * 8e6 / sender.target_bps
    sender.chance_us = sender.now_us + np.int64(gap_us)
    sender.packets += 1
    sender.sent_bytes += size
    skip_dropped(sender, tables.flight, s)
    take_out(sender.queue, i)


@kernel
def _order(sender, tables, s, answer):
    """Execute the decision for the transmission opportunity."""
    if answer >= 0:
        _send(sender, tables, s, answer)
        return
    item = item_at(sender.queue, -1 - answer)
    sender.counts[item.kind].discarded += counted(sender, item.created_us)
    take_out(sender.queue, -1 - answer)


@kernel
def set_target(sender, rate_bps):
    """Set the target bitrate of encoder and pacer, clipped to the call's range."""
    sender.target_bps = min(max(np.float64(rate_bps), sender.min_bps), sender.max_bps)


@kernel
def _ask(sender, tables, s, rate, rate_state):
    see_capacity(rate, rate_state, s, tables.dumbbell.capacity, sender.now_us)
    waiting, captured, sent = sender.queue.bytes, sender.captured_bytes, sender.sent_bytes
    status = SenderStatus(
        of_one(sender, waiting), of_one(sender, captured), of_one(sender, sent), sender.frame, of_one(sender, sender.frame_bytes),
        sender.source.frame_us,
    )  # fmt: skip
    see_sender(rate, rate_state, s, status)
    see_reports(rate, rate_state, s, sender.stats)
    set_target(sender, sender.priority * decide(rate, rate_state, s, sender.now_us))
    sender.pacing = pacing(rate, rate_state, s, sender.default_pacing)
    sender.window_bytes = window_bytes(rate, rate_state, s)


@kernel
def _in_flight(sender, departures, s):
    """Return the number of sent packets whose ring entries are still needed."""
    reported = min(sender.reported, departures.settled[s]) if followed_by_paths(departures) else sender.reported
    return sender.packets - reported


@kernel
def _window_is_open(sender):
    """Return True if the window admits the oldest queued packet in addition to the unreported ones."""
    # The scheduler chooses later, so the oldest packet stands for the one to be sent.
    return of_one(sender, sender.sent_bytes - sender.reported_bytes + item_at(sender.queue, 0).size_bytes) <= sender.window_bytes


@kernel
def next_us(sender, tables, rate, rate_state, s):
    """Return the time of the call's own next event, int64, not before `sender.now_us`; nothing is updated."""
    at_us = min(next_report_us(sender, tables), sender.until_us, wake_us(rate, rate_state, s), onward_us(sender, tables.flight, s))
    at_us = min(at_us, audio_us(sender), video_us(sender))
    if sender.queue.waiting > 0 and _in_flight(sender, tables.departures, s) < MAX_IN_FLIGHT and _window_is_open(sender):
        at_us = min(at_us, sender.chance_us)
    return max(at_us, sender.now_us)


@kernel
def _note_target(sender, tables, s, until_us):
    """Integrate the target over time, second by second."""
    at_us = sender.now_us
    while at_us < until_us:
        second = at_us // 1_000_000
        ends_us = min((second + 1) * 1_000_000, until_us)
        if second < tables.targets.shape[1]:
            tables.targets[s, second] += sender.target_bps * (ends_us - at_us) * 1e-6
        at_us = ends_us


@kernel
def _finish(sender, tables, s):
    while onward_us(sender, tables.flight, s) < NEVER_US:
        pass_on(sender, tables, s)
    for packet in range(sender.reported, sender.packets):
        settle_packet(sender, tables.flight, s, ring_index(packet))
    sender.reported = sender.packets
    sender.phase = _DONE
    return DONE


@kernel
def take_turn(sender, tables, s, rate, rate_state, order, at_us):
    """Play the call's own next event, at the time of `next_us`; return why the call must stop (DECIDE, DONE or PAUSED), or RUNNING."""
    sender.now_us = at_us
    is_back = next_report_us(sender, tables) <= at_us
    if at_us >= sender.until_us and not followed_by_paths(tables.departures):
        return _finish(sender, tables, s)
    if at_us >= sender.until_us and not is_back:  # a decision at that instant uses the report that arrives at it
        return PAUSED
    if onward_us(sender, tables.flight, s) <= at_us:
        pass_on(sender, tables, s)
    # The receiver makes a report, which must pass the reverse queue; its arrival at the sender is an event of its own.
    elif is_back and sender.reverse != NO_QUEUE and sender.report_us <= at_us:
        send_report(sender, tables, s, rate, rate_state)
    elif is_back or wake_us(rate, rate_state, s) <= at_us:
        if not is_back or take_report(sender, tables, s, rate, rate_state):
            if origin_of(rate) == AGENT and is_asked(rate, rate_state, s, at_us):
                sender.phase = _RATE_ANSWERED
                return DECIDE
            # A remote agent's rate comes with its commands, not with reports.
            if origin_of(rate) != REMOTE:
                _ask(sender, tables, s, rate, rate_state)
    elif audio_us(sender) <= at_us or video_us(sender) <= at_us:
        capture_due(sender, tables, order)
    # No other event is due, so this is a transmission opportunity.
    elif origin_of(order) == AGENT:
        sender.phase = _ORDER_ANSWERED
        return DECIDE
    else:
        _order(sender, tables, s, choose(order, sender.queue, at_us, int(sender.rtt_us)))
    return RUNNING


@kernel
def set_up(sender, tables, s, rate, rate_state):
    """Let the law that an agent has chosen decide at call set-up, where the agent is not asked."""
    if sender.phase == _SET_UP:
        sender.phase = _RUNNING
        _ask(sender, tables, s, rate, rate_state)


@kernel
def play_sender(sender, tables, s, rate, rate_state, order):
    """Play a sender over its bottleneck, both in row `s`, until it must stop; return the reason: DECIDE, DONE or PAUSED.

    After DECIDE the answer is in `answer_bps` or `answer_order` of the sender. `rate` and `order` are parameters of rules, or controllers.
    """
    if sender.phase == _SET_UP and origin_of(rate) == AGENT:
        sender.phase = _RATE_ANSWERED
        return DECIDE
    if sender.phase == _RATE_ANSWERED:
        if not is_asked(rate, rate_state, s, sender.now_us):
            _ask(sender, tables, s, rate, rate_state)
        elif sender.answer_bps > 0.0:
            set_target(sender, sender.answer_bps)
    elif sender.phase == _ORDER_ANSWERED:
        _order(sender, tables, s, sender.answer_order)
    sender.phase = _RUNNING
    while True:
        # The times of the call's own events do not depend on cross traffic in between, so the next one is known before it is played.
        at_us = next_us(sender, tables, rate, rate_state, s)
        until_us = at_us
        while True:  # one call, since it is inlined
            run_cross_traffic(tables.others, sender, tables, s, until_us)
            if at_us < sender.ends_us or not calls_wait(tables.dumbbell, s):
                break
            until_us = tables.dumbbell.queue.fair.schedule[s].next_us  # the end waits for packets in the fair queue
        _note_target(sender, tables, s, at_us)
        why = take_turn(sender, tables, s, rate, rate_state, order, at_us)
        if why != RUNNING:
            return why


@kernel
def is_done(sender):
    """Return True once a call without paths is done."""
    return sender.phase == _DONE


@kernel
def settled(sender, counts):
    """Return the number of packets of one kind that were reported or never sent; at the end of the call, all of them."""
    return counts.created if is_done(sender) else counts.rejected + counts.discarded + counts.delivered + counts.lost


class Sender(NamedTuple):
    """Sender stage of a batch of calls without paths behind the bottleneck."""

    senders: NDArray  # (sessions,) of SenderState
    tables: SenderTables  # arrays whose size depends on the batch
    rate: Any  # parameters of a rate rule, or `FromAgent`
    rate_state: Any  # state of the rate rule
    order: Any  # parameters of a scheduler, or a controller
    order_state: Any  # state of a scheduler that has one, or ()


@leave.register(Sender)
def _leave(sender, calls, routing, s):
    if is_done(sender.senders[s]):
        return DONE
    order = scheduler_of(sender.order, sender.order_state, s)
    return play_sender(sender.senders[s], sender.tables, s, sender.rate, sender.rate_state, order)
