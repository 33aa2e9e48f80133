"""Other calls at the bottleneck of a first call, each with its own sources, send queue, rate rule, scheduler, pacer and reports.

They are senders like the first, in their own rows, and flows among all other flows: events of all
flows are ordered by next event time, ties by flow number. A call that starts later has its own clock,
which starts with it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.from_agent import AGENT, origin_of
from vcgym.baselines.other_calls import number_of, rate_choice
from vcgym.baselines.rule import allocate, for_kernels
from vcgym.envs.call.sender.effects import ORDERS, Schedulers
from vcgym.envs.call.sender.events import next_us, set_up, take_turn
from vcgym.envs.call.sender.in_flight import NoOtherCalls, allocate_departures, allocate_flight, deliver, run_cross_traffic
from vcgym.envs.call.sender.state import LOGGED, SenderState, SenderTables, begin_rule, begin_sender
from vcgym.envs.call.stages import RUNNING
from vcgym.network.bottleneck.cross_traffic import DEPARTED, NOBODY, Dumbbell, run_flows
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.tcp_flow import NEVER_US
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records


class OtherCalls(NamedTuple):
    """Other calls of a batch; first axis: bottleneck x calls."""

    calls: int  # maximum per bottleneck
    senders: NDArray[np.void]  # of SenderState
    tables: SenderTables
    rate: Any  # RateChoice, or the rule of the first call
    rate_state: Any
    history: NDArray[np.float64]
    order: Any  # Schedulers, or that of the first call


def allocate_others(
    dumbbell: Dumbbell,
    sessions: int,
    calls: int,
    frame_bytes: NDArray[np.int64],
    log_packets: int = 0,
    same: tuple[Any, Any] | None = None,
    rates: Sequence[Any] = (),
) -> OtherCalls | NoOtherCalls:  # fmt: skip
    """Allocate up to `calls` other calls for each session, which share `frame_bytes` of all series with the first calls.

    They have rate rule and scheduler of the first call, `same`, or select them by name, or among `rates` without a name; `log_packets` of
    each call are logged.
    """
    if calls == 0:
        return NoOtherCalls()
    rows = sessions * calls
    log = np.zeros((rows, log_packets), LOGGED)
    tables = SenderTables(dumbbell, allocate_flight(rows), allocate_departures(0), frame_bytes, log, np.zeros((rows, 0)))
    rate, order = (rate_choice(rates), Schedulers()) if same is None else same
    state, history = allocate(rate, rows, 1), np.zeros((rows, 1, 3))
    return OtherCalls(calls, records(SenderState, rows).view(np.ndarray), tables, for_kernels(rate), state, history, for_kernels(order))


def begin_others(
    others: OtherCalls, s: int, link: SharedLink, pacing: float, series: dict[int, int], back: int, second: int, rates: Sequence[Any] = ()
) -> None:  # fmt: skip
    """Start all other calls of a world over bottleneck `s`, whose flows have been started.

    `pacing` is that of the first call, `series` has the index of each series of frame sizes by its id; `back` and `second` are the
    bottleneck of reports and the second one, or NO_QUEUE; `rates` as in `allocate_others`.
    """
    flows = others.tables.dumbbell.flows.flow[s]
    places = [f for f, flow in enumerate(link.flows) if isinstance(flow, OtherCall)]
    for call, f in enumerate(places):
        other, row = link.flows[f], s * others.calls + call
        assert isinstance(other, OtherCall)
        other_link = link_of(link, f)
        flows[f]["call"] = call
        if other_link is None:
            flows[f]["next_us"] = NEVER_US
            continue
        begin_sender(others.senders, row, other_link, pacing if other.rate == SAME else other.pacing, series)
        sender = others.senders[row]
        sender["bottleneck"], sender["flow"], sender["begins_us"] = s, f + 1, flows[f]["starts_us"]
        sender["reverse"] = back
        if other.backwards:
            sender["bottleneck"], sender["reverse"] = back, s
        elif other.at_second:
            sender["bottleneck"] = second
        if other.rate != SAME:
            sender["queue"]["governs"], others.rate_state.which[row] = ORDERS.index(other.order), number_of(other.rate, rates)
        begin_rule(others.senders, row, others.rate, others.rate_state, others.history)


def link_of(link: SharedLink, f: int) -> SharedLink | None:
    """Return the world of the other call that is flow `f`, in its own time; None if it ends before it starts."""
    other = link.flows[f]
    assert isinstance(other, OtherCall)
    seconds = min(other.stops_s, link.seconds) - other.starts_s
    if seconds <= 0.0:
        return None
    return link._replace(
        seed=int(rng.stream_key(np.uint64(link.seed), f + 1, rng.OTHER_CALL)), forward_ms=other.forward_ms, backward_ms=other.backward_ms,
        loss=other.loss, audio=other.audio, video=other.video, rates_kbps=other.rates_kbps, seconds=seconds, priority=other.priority,
        station_mbps=other.station_mbps,
        counts_from_s=max(link.counts_from_s - other.starts_s, 0.0),
        pauses_s=tuple((begins_s - other.starts_s, ends_s - other.starts_s) for begins_s, ends_s in other.pauses_s),
    )  # fmt: skip


@run_cross_traffic.register(OtherCalls)
def _run_cross_traffic(others, sender, tables, s, until_us):
    dumbbell = tables.dumbbell
    while True:
        f = run_flows(dumbbell, s, until_us)
        if f == NOBODY:
            return
        if f == DEPARTED:
            _deliver(others, sender, tables, s)
        else:
            _take_turn(others, dumbbell.flows.flow[s, f], s)


@kernel
def _deliver(others, sender, tables, s):
    """Report the packet that has left the fair queue to its call."""
    fair = tables.dumbbell.queue.fair
    flow = np.int64(fair.packets[s, fair.schedule[s].out_index].flow)
    if flow == 0:
        deliver(sender, tables, s)
    else:
        row = s * others.calls + tables.dumbbell.flows.flow[s, flow - 1].call
        deliver(others.senders[row], others.tables, row)


@kernel
def _take_turn(others, flow, s):
    row = s * others.calls + flow.call
    sender = others.senders[row]
    at_us = flow.next_us - sender.begins_us
    if origin_of(others.rate) == AGENT:
        set_up(sender, others.tables, row, others.rate, others.rate_state)
    why = take_turn(sender, others.tables, row, others.rate, others.rate_state, others.order, at_us)
    following_us = next_us(sender, others.tables, others.rate, others.rate_state, row)
    flow.next_us = NEVER_US if why != RUNNING else sender.begins_us + following_us
