"""Measurements of overlay links, and their messages: to the link's tail every 200 ms, and from there to all sources every 300 ms.

The functions work on `vcgym.conference.rules.celerity.CelerityState`.
"""

import math

import numpy as np

from vcgym.conference.network.forwarding import send_message
from vcgym.network.kernels.jit import kernel

RATES, STATE = 0, 1  # kinds of messages
RATES_BYTES = 5  # per session: 0.2 kbps at 5 messages a second
STATE_BYTES = 6  # per link: 0.158 kbps at 3.3 messages a second
_DEAD_US = 1_000_000
_FRESH_US = 400_000  # after this time without media, messages measure a link's queueing


@kernel
def measure(state, net, tail, head, now_us):
    """Close a measurement window of the link; a window without packets only affects whether the link is alive.

    Args:
        state: CelerityState; the measurements of the link are updated.
        net: Network; the sums of the link's window are reset.
        tail: int64, party at the tail of the link.
        head: int64, party at its head, another one; it measures.
        now_us: int64, current time.
    """
    one, before_s = net.measured[tail, head], state.queueing_s[tail, head]
    if one.received > 0:
        mean_us = one.delay_us / one.received
        state.loss[tail, head] = one.lost / (one.lost + one.received)
        if one.sampled[0] > 0:
            state.media_us[tail, head] = now_us
        # Messages are rare and small: they measure queueing only on a link that media left.
        kind = 0 if now_us - state.media_us[tail, head] < _FRESH_US else 1
        if one.sampled[kind] > 0:
            state.queueing_s[tail, head] = one.excess_us[kind] / (one.sampled[kind] * 1e6)
        state.delay_ms[tail, head] = mean_us / 1000.0
        state.arrived_us[tail, head] = now_us
    elif now_us - state.arrived_us[tail, head] >= _DEAD_US:
        state.delay_ms[tail, head] = math.inf
    state.risen_s[tail, head] = state.queueing_s[tail, head] - before_s
    one.received = one.lost = one.delay_us = 0
    one.sampled[:] = one.excess_us[:] = 0


@kernel
def report_link(state, net, tail, head, now_us):
    """Send the tail of an overlay link the rates of all sessions on it, its measurements, and the newest known plans.

    Args:
        state: CelerityState; only `scratch` is overwritten.
        net: Network, updated.
        tail: int64, party at the tail of the link; it receives.
        head: int64, party at its head, another one; it sends.
        now_us: int64, current time.
    """
    parties = net.sessions.size
    message = net.messages[RATES, head, tail, net.written[RATES, head, tail] % net.messages.shape[3]]
    for m in range(parties):
        message[m] = state.rates_kbps[m, tail, head]
        message[parties + m] = net.known_plans[head, m]
    message[2 * parties] = state.delay_ms[tail, head]
    message[2 * parties + 1] = state.loss[tail, head]
    message[2 * parties + 2] = state.queueing_s[tail, head]
    send_message(net, state.scratch, RATES, head, tail, RATES_BYTES * parties, now_us)


@kernel
def report_to_sources(state, net, now_us):
    """Process messages from receivers of outgoing links, and report them to all sources."""
    parties = net.sessions.size
    for head in range(parties):
        for m in range(parties):
            newest = net.known_plans[head, m]
            for tail in range(parties):
                newest = max(newest, np.int64(net.inbox[RATES, head, tail, parties + m]))
            net.known_plans[head, m] = newest
    for tail in range(parties):
        for m in range(parties):
            if m != tail and net.present[tail] and net.present[m]:
                message = net.messages[STATE, tail, m, net.written[STATE, tail, m] % net.messages.shape[3]]
                for head in range(parties):
                    message[head] = net.inbox[RATES, tail, head, m]
                    message[parties + head] = one_way_ms(state, net, tail, head, now_us)
                    message[2 * parties + head] = net.inbox[RATES, tail, head, 2 * parties + 1]
                    message[3 * parties + head] = net.inbox[RATES, tail, head, 2 * parties + 2]
                message[tail] = state.bound_kbps[tail]
                send_message(net, state.scratch, STATE, tail, m, STATE_BYTES * (parties - 1), now_us)


@kernel
def one_way_ms(state, net, tail, head, now_us):
    """Return the delay of a link as known to its tail: half the round trip; infinite after a second without messages.

    Args:
        state: CelerityState.
        net: Network.
        tail: int64, party at the tail of the link.
        head: int64, party at its head.
        now_us: int64, current time.
    """
    silent_us = now_us - max(net.inbox_us[RATES, tail, head], state.joined_us[head])
    if silent_us >= _DEAD_US or tail == head or not net.present[head]:
        return math.inf
    forth_ms = net.inbox[RATES, tail, head, 2 * net.sessions.size]
    return (forth_ms + state.delay_ms[head, tail]) / 2.0


@kernel
def learn(state, net, m, now_us):
    """Update the knowledge of a source: rates of its session, delay, loss and queueing of all links, and the mean session rate.

    Args:
        state: CelerityState; what source `m` knows is updated.
        net: Network; read only.
        m: int64, source and its session.
        now_us: int64, current time.
    """
    parties = net.sessions.size
    sessions, total_kbps = 1, state.bound_kbps[m]
    rates, delay_ms, loss, queueing_s = state.known_kbps[m], state.known_ms[m], state.known_loss[m], state.known_s[m]
    for tail in range(parties):
        fresh = net.inbox_us[STATE, m, tail] >= 0 and now_us - net.inbox_us[STATE, m, tail] < _DEAD_US
        for head in range(parties):
            # A source reads reports about its own links directly from their receivers, the others from their tails.
            if tail == m:
                is_known, message = net.inbox_us[RATES, m, head] >= 0, net.inbox[RATES, m, head]
                rates[m, head] = message[m] if is_known else state.rates_kbps[m, m, head]
                delay_ms[m, head] = one_way_ms(state, net, m, head, now_us)
                loss[m, head], queueing_s[m, head] = message[2 * parties + 1], message[2 * parties + 2]
            else:
                message = net.inbox[STATE, m, tail]
                rates[tail, head] = message[head] if fresh else 0.0
                delay_ms[tail, head] = message[parties + head] if fresh else 0.0
                loss[tail, head] = message[2 * parties + head] if fresh else 0.0
                queueing_s[tail, head] = message[3 * parties + head] if fresh else 0.0
        if tail != m and fresh:
            sessions += 1
            total_kbps += net.inbox[STATE, m, tail, tail]
            rates[tail, tail] = 0.0
    state.mean_kbps[m] = total_kbps / sessions
