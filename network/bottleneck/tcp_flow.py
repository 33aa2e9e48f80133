"""A TCP connection that always has data to send: sequence numbers, acknowledgements, recovery and timers over a window of tcp_window.py.

Each segment that arrives is acknowledged at once with the next one missing. NewReno (RFC 6582): the third duplicate acknowledgement
retransmits the segment missing and cuts the window; each further duplicate lets one more out; a partial acknowledgement retransmits the
next hole; recovery is over when all that was out at its beginning is acknowledged. A timeout goes back to the first segment missing.
Timer: RFC 6298, at least `RTO_LEAST_MARGIN_US` above the smoothed round trip; samples from segments sent once only (Karn).

As queue and way are first-in-first-out, what a segment finds at the receiver is settled when its acknowledgement is back; so a segment
under way is one entry of a ring, from sending to acknowledgement, and nothing else is kept in order of time.

Left out: selective acknowledgements, delayed acknowledgements, limited transmit, handshake and end of a connection, loss of
acknowledgements.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.tcp_window import WINDOW, cut, grow, start_window, time_out
from vcgym.network.kernels.jit import kernel

PIPE = 8192  # segments under way; a power of two
_MASK = PIPE - 1
MAX_WINDOW = PIPE // 2  # segments, the receiver's window: leaves room for what a timeout sends again
INITIAL_WINDOW = 10.0  # segments, RFC 6928
RTO_LEAST_MARGIN_US = 200_000  # of the timeout above the smoothed round trip, as Linux has it; RFC 6298 2.4 has 1 s for the whole
RTO_MAX_US = 60_000_000  # RFC 6298 2.5
RTO_START_US = 1_000_000  # RFC 6298 2.1
_DUPLICATES = 3  # RFC 5681 3.2
NEVER_US = 1 << 62

CONNECTION = np.dtype(
    (
        np.record,
        [
            ("window", WINDOW),
            ("first_missing", "i8"),  # of the acknowledgements: segments before it have arrived
            ("next_segment", "i8"),
            ("highest", "i8"),  # segments ever sent
            ("recover", "i8"),  # all before it was out when recovery began or the timer fired
            ("recovering", "i8"),
            ("duplicates", "i8"),
            ("extra", "f8"),  # segments that duplicate acknowledgements let out
            ("expected", "i8"),  # next segment the receiver misses
            ("srtt_us", "f8"),  # 0: no sample yet
            ("rttvar_us", "f8"),
            ("rto_us", "f8"),
            ("timer_us", "i8"),  # when it fires, or NEVER_US
            ("written", "i8"),  # segments put into the pipe
            ("read", "i8"),  # of them, those acknowledged
            ("retransmitted", "i8"),
        ],
    )
)


class Pipe(NamedTuple):
    """Segments under way, in order, and those that arrived out of order; first two axes the bottleneck and the flow."""

    segment: NDArray[np.int64]  # (bottlenecks, flows, PIPE)
    sent_us: NDArray[np.int64]
    acked_us: NDArray[np.int64]  # when its acknowledgement is back
    again: NDArray[np.int8]  # 1: sent before
    arrived: NDArray[np.int8]  # 1: arrived, beyond the first missing; by segment modulo PIPE


def allocate_pipe(bottlenecks: int, flows: int) -> Pipe:
    """Allocate `flows` connections over each bottleneck; no flows take next to no memory."""
    shape = (bottlenecks, flows, PIPE)
    segment, sent_us, acked_us = (np.zeros(shape, np.int64) for _ in range(3))
    return Pipe(segment, sent_us, acked_us, np.zeros(shape, np.int8), np.zeros(shape, np.int8))


@kernel
def start_connection(connection, pipe, s, f, control):
    """Start a new connection."""
    start_window(connection.window, control, INITIAL_WINDOW)
    connection.first_missing = connection.next_segment = connection.highest = connection.expected = 0
    connection.recover = -1
    connection.recovering = connection.duplicates = connection.written = connection.read = connection.retransmitted = 0
    connection.extra = connection.srtt_us = connection.rttvar_us = 0.0
    connection.rto_us, connection.timer_us = RTO_START_US, NEVER_US
    pipe.arrived[s, f, :] = 0


@kernel
def start_anew(connection):
    """Start as a new connection once all is acknowledged; segments are numbered on."""
    start_window(connection.window, connection.window.control, INITIAL_WINDOW)
    connection.recover = connection.highest - 1
    connection.recovering = connection.duplicates = 0
    connection.extra = connection.srtt_us = connection.rttvar_us = 0.0
    connection.rto_us, connection.timer_us = RTO_START_US, NEVER_US


@kernel
def next_event_us(connection, pipe, s, f):
    """Return when the next acknowledgement is back or the timer fires."""
    at_us = connection.timer_us
    if connection.read < connection.written:
        at_us = min(at_us, pipe.acked_us[s, f, connection.read & _MASK])
    return at_us


@kernel
def may_send(connection):
    """Return True if window and pipe have room for a segment."""
    allowed = min(connection.window.cwnd + connection.extra, np.float64(MAX_WINDOW))
    in_pipe = connection.written - connection.read
    return connection.next_segment + 1 <= connection.first_missing + allowed and in_pipe < PIPE


@kernel
def take_next(connection):
    """Take the segment to send now and count it as under way."""
    segment = connection.next_segment
    connection.next_segment += 1
    return segment


@kernel
def put_under_way(connection, pipe, s, f, segment, now_us, acked_us):
    """Count a sent segment; `acked_us`: when its acknowledgement will be back, negative if it is lost or that is not known."""
    again = segment < connection.highest
    if again:
        connection.retransmitted += 1
    connection.highest = max(connection.highest, segment + 1)
    if connection.timer_us == NEVER_US:
        connection.timer_us = now_us + np.int64(connection.rto_us)
    if acked_us >= 0:
        put_in_pipe(connection, pipe, s, f, segment, now_us, acked_us, 1 if again else 0)


@kernel
def put_in_pipe(connection, pipe, s, f, segment, sent_us, acked_us, again):
    """Put a segment that will arrive into the pipe; `again`: 1 if it was sent before."""
    place = connection.written & _MASK
    pipe.segment[s, f, place], pipe.sent_us[s, f, place], pipe.acked_us[s, f, place] = segment, sent_us, acked_us
    pipe.again[s, f, place] = again
    connection.written += 1


@kernel
def on_event(connection, pipe, s, f, now_us):
    """Play the next acknowledgement or timeout; return a segment to send again at once, or -1.

    An acknowledgement that is back in the very microsecond in which the timer would fire stops it.
    """
    place = connection.read & _MASK
    if connection.read < connection.written and pipe.acked_us[s, f, place] <= now_us:
        connection.read += 1
        if pipe.again[s, f, place] == 0:
            _sample(connection, np.float64(now_us - pipe.sent_us[s, f, place]))
        return _on_ack(connection, _receive(connection, pipe, s, f, pipe.segment[s, f, place]), now_us)
    time_out(connection.window, _flight(connection))
    connection.recover = connection.highest
    connection.recovering = connection.duplicates = 0
    connection.extra = 0.0
    connection.rto_us = min(2.0 * connection.rto_us, np.float64(RTO_MAX_US))
    connection.timer_us = now_us + np.int64(connection.rto_us)
    connection.next_segment = connection.first_missing + 1
    return connection.first_missing


@kernel
def _flight(connection):
    """Return the segments under way, at most the window: what duplicates let out in a recovery before is no sign of the path's capacity."""
    return min(np.float64(connection.next_segment - connection.first_missing), connection.window.cwnd)


@kernel
def _receive(connection, pipe, s, f, segment):
    """Count a segment at the receiver; return the next one that it misses."""
    if segment >= connection.expected:
        pipe.arrived[s, f, segment & _MASK] = 1
        while pipe.arrived[s, f, connection.expected & _MASK] == 1:
            pipe.arrived[s, f, connection.expected & _MASK] = 0
            connection.expected += 1
    return connection.expected


@kernel
def _sample(connection, rtt_us):
    """Take a sample of the round-trip time (RFC 6298 2.2 and 2.3)."""
    if connection.srtt_us == 0.0:
        connection.srtt_us, connection.rttvar_us = rtt_us, rtt_us / 2.0
    else:
        connection.rttvar_us = 0.75 * connection.rttvar_us + 0.25 * abs(connection.srtt_us - rtt_us)
        connection.srtt_us = 0.875 * connection.srtt_us + 0.125 * rtt_us
    rto_us = connection.srtt_us + max(4.0 * connection.rttvar_us, np.float64(RTO_LEAST_MARGIN_US))
    connection.rto_us = min(rto_us, np.float64(RTO_MAX_US))


@kernel
def _on_ack(connection, acknowledged, now_us):
    """Count all before `acknowledged` as arrived; return a segment to send again, or -1."""
    fresh = acknowledged - connection.first_missing
    if fresh == 0:
        return _on_duplicate(connection)
    connection.first_missing = acknowledged
    connection.next_segment = max(connection.next_segment, acknowledged)
    connection.duplicates = 0
    outstanding = acknowledged < connection.highest
    connection.timer_us = now_us + np.int64(connection.rto_us) if outstanding else NEVER_US
    if not connection.recovering:
        grow(connection.window, now_us, connection.srtt_us)
        return np.int64(-1)
    if acknowledged >= connection.recover:
        connection.recovering, connection.extra = 0, 0.0
        connection.recover = acknowledged - 1
        return np.int64(-1)
    connection.extra = max(connection.extra - fresh + 1.0, 0.0)
    return acknowledged


@kernel
def _on_duplicate(connection):
    connection.duplicates += 1
    if connection.recovering:
        connection.extra += 1.0
    elif connection.duplicates == _DUPLICATES and connection.first_missing > connection.recover:
        cut(connection.window, _flight(connection))
        connection.recovering, connection.recover = 1, connection.highest
        connection.extra = np.float64(_DUPLICATES)
        return connection.first_missing
    return np.int64(-1)
