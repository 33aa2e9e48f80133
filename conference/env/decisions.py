"""A decision in a conference, compiled: rates change, the conference is played on, and what it earned is counted and observed."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.network import PACKET_BYTES
from vcgym.conference.rules.celerity import play_celerity
from vcgym.conference.rules.reports import STATE
from vcgym.network.kernels.jit import kernel

DECISION_US = 300_000
STEP_KBPS = 40.0  # largest change of a link rate per decision
MAX_KBPS = 10_000.0
FEATURES = {"rate": "Mbit/s", "delay": "s", "loss": "share", "queueing": "s", "life": "1: alive", "age": "s"}  # per overlay link: units
SESSION_FEATURES = {"min_cut": "Mbit/s", "packed_rate": "Mbit/s", "presence": "1: present"}
WINDOW = 5  # decisions over which a session's rate is averaged
_HIGHEST = 100.0  # observed value
_DEAD_S = 2.0  # observed delay of a dead link

EARNED = np.dtype(
    (
        np.record,
        [
            ("gain", "f8"),  # change of the utility since the last decision
            ("late", "f8"),  # sum over sessions of the share of packets later than the bound since then
            ("lost", "f8"),  # ... and of the share lost or outstanding
        ],
    )
)


class History(NamedTuple):
    """Counters at the last WINDOW + 1 decisions; those of decision d are in row d modulo WINDOW + 1."""

    decisions: NDArray[np.int64]  # (1,), decisions so far
    # (WINDOW + 1, P, P), packets received and late ones, by session and receiver:
    packets: NDArray[np.int64]
    late: NDArray[np.int64]
    emitted: NDArray[np.int64]  # (WINDOW + 1, P), packets sent by each source
    bytes: NDArray[np.int64]  # (WINDOW + 1, L), bytes entered into each physical link


def allocate_history(parties: int, links: int) -> History:
    """Return the history of a conference that has not started."""
    rows = WINDOW + 1
    square = (rows, parties, parties)
    return History(
        np.zeros(1, np.int64), np.zeros(square, np.int64), np.zeros(square, np.int64), np.zeros((rows, parties), np.int64),
        np.zeros((rows, links), np.int64),
    )  # fmt: skip


@kernel
def decide(params, state, net, events, history, seed, changes, accounts, s):
    """Change link rates, play to the next decision, and fill `accounts[s]`.

    Args:
        params: Celerity.
        state: CelerityState.
        net: Network.
        events: events of the world, in order of time.
        history: History.
        seed: seed of the world.
        changes: (P, P, P) in [-1, 1] by session, tail and head, times STEP_KBPS.
        accounts: (sessions,) of EARNED.
        s: session.
    """
    parties = net.sessions.size
    for m in range(parties):
        for tail in range(parties):
            for head in range(parties):
                rate = state.rates_kbps[m, tail, head] + STEP_KBPS * changes[m, tail, head]
                state.rates_kbps[m, tail, head] = min(max(rate, 0.0), MAX_KBPS)
    before = utility(params, history)
    history.decisions[0] += 1
    play_celerity(params, state, net, events, seed, False, history.decisions[0] * DECISION_US)
    _count(net, history)
    accounts[s].gain = utility(params, history) - before
    _count_shares(history, accounts[s])


@kernel
def _count(net, history):
    row = history.decisions[0] % (WINDOW + 1)
    for m in range(net.sessions.size):
        history.emitted[row, m] = net.sessions[m].number
        for j in range(net.sessions.size):
            history.packets[row, m, j] = net.received[m, j].packets
            history.late[row, m, j] = net.received[m, j].late
    for link in range(net.links.size):
        history.bytes[row, link] = net.links[link].bytes


@kernel
def session_kbps(history, m):
    """Return the rate of session `m` over the last 1.5 s at its slowest receiver."""
    row = history.decisions[0] % (WINDOW + 1)
    first = (row + 1) % (WINDOW + 1)
    fewest = np.int64(1 << 62)
    for j in range(history.emitted.shape[1]):
        if j != m:
            fewest = min(fewest, history.packets[row, m, j] - history.packets[first, m, j])
    return fewest * PACKET_BYTES * 8e3 / (WINDOW * DECISION_US)


@kernel
def utility(params, history):
    """Return the sum of ln(rate + delta), delta bounding marginal utility as in Celerity."""
    total = 0.0
    for m in range(history.emitted.shape[1]):
        total += math.log(session_kbps(history, m) + params.delta_kbps)
    return total


@kernel
def _count_shares(history, earned):
    row, parties = history.decisions[0] % (WINDOW + 1), history.emitted.shape[1]
    last = (row + WINDOW) % (WINDOW + 1)
    earned.late = earned.lost = 0.0
    for m in range(parties):
        packets = late = 0
        for j in range(parties):
            packets += history.packets[row, m, j] - history.packets[last, m, j]
            late += history.late[row, m, j] - history.late[last, m, j]
        due = (history.emitted[row, m] - history.emitted[last, m]) * (parties - 1)
        earned.late += late / max(packets, 1)
        earned.lost += min(max(1.0 - packets / max(due, 1), 0.0), 1.0)


@kernel
def observe(state, net, history, out):
    """Write the observations of all sources: features of each overlay link by tail and head, then those of the session.

    Args:
        state: CelerityState; read only.
        net: Network; read only.
        history: History; read only.
        out: float32 (P, 6 P^2 + 3), overwritten with 0 to 100.
    """
    parties, now_us = net.sessions.size, history.decisions[0] * DECISION_US
    links = parties * parties
    for m in range(parties):
        for tail in range(parties):
            age_s = 0.0 if tail == m else (now_us - max(net.inbox_us[STATE, m, tail], 0)) / 1e6
            for head in range(parties):
                delay_s, link = state.known_ms[m, tail, head] / 1000.0, tail * parties + head
                dead = delay_s == math.inf
                out[m, link] = _clipped(state.rates_kbps[m, tail, head] / 1000.0)
                out[m, links + link] = _clipped(_DEAD_S if dead else delay_s)
                out[m, 2 * links + link] = _clipped(state.known_loss[m, tail, head])
                out[m, 3 * links + link] = _clipped(state.known_s[m, tail, head])
                out[m, 4 * links + link] = 0.0 if dead else 1.0
                out[m, 5 * links + link] = _clipped(age_s)
        out[m, 6 * links] = _clipped(state.bound_kbps[m] / 1000.0)
        out[m, 6 * links + 1] = _clipped(state.packed_kbps[m] / 1000.0)
        out[m, 6 * links + 2] = 1.0 if net.present[m] else 0.0


@kernel
def _clipped(value):
    return min(max(value, 0.0), _HIGHEST)
