"""A TCP connection that always has data to send: sequence numbers, acknowledgements, recovery and timers over a window of tcp_window.py.

The receiver acknowledges each segment at once with the next missing one. NewReno (RFC 6582): the third duplicate acknowledgement
retransmits the missing segment and cuts the window; each further duplicate allows one more segment; a partial acknowledgement retransmits
the next hole; recovery ends when everything sent before it is acknowledged. A timeout goes back to the first missing segment.
Timer: RFC 6298, at least `RTO_MIN_MARGIN_US` above the smoothed round trip; samples only from segments sent once (Karn).

Queue and delays are FIFO, so the receiver's state for a segment can be computed when its acknowledgement arrives. So a segment in flight
is one ring entry, from sending to acknowledgement, and no other events are needed.

Left out: selective and delayed acknowledgements, limited transmit, handshake and end of a connection, loss of
acknowledgements.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.tcp_window import Window, cut, grow, start_window, time_out
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

PIPE = 8192  # segments in flight; a power of two
_MASK = PIPE - 1
MAX_WINDOW = PIPE // 2  # segments, the receiver's window: leaves space for retransmissions after a timeout
INITIAL_WINDOW = 10.0  # segments, RFC 6928
RTO_MIN_MARGIN_US = 200_000  # margin of the timeout above the smoothed round trip, as in Linux; RFC 6298 2.4: 1 s in total
RTO_MAX_US = 60_000_000  # RFC 6298 2.5
RTO_START_US = 1_000_000  # RFC 6298 2.1
_DUPLICATES = 3  # RFC 5681 3.2
NEVER_US = 1 << 62


@record
class Connection:
    """State of a connection, which `start_connection` starts."""

    window: Window
    first_missing: int = 0  # all segments before it are acknowledged
    next_segment: int = 0
    highest: int = 0  # number of segments ever sent
    recover: int = 0  # end of the segments sent before recovery or timeout
    recovering: int = 0
    duplicates: int = 0
    extra: float = 0.0  # segments allowed by duplicate acknowledgements
    expected: int = 0  # next segment missing at the receiver
    srtt_us: float = 0.0  # 0: no sample yet
    rttvar_us: float = 0.0
    rto_us: float = 0.0
    timer_us: int = 0  # expiry of the timer, or NEVER_US
    written: int = 0  # segments put into the pipe
    read: int = 0  # of these, acknowledged segments
    retransmitted: int = 0


class Pipe(NamedTuple):
    """Segments in flight, in order, and those that arrived out of order; first two axes: bottleneck and flow."""

    segment: NDArray[np.int64]  # (bottlenecks, flows, PIPE)
    sent_us: NDArray[np.int64]
    acked_us: NDArray[np.int64]  # arrival of its acknowledgement
    again: NDArray[np.int8]  # 1: sent before
    arrived: NDArray[np.int8]  # 1: arrived, beyond the first missing; by segment modulo PIPE


def allocate_pipe(bottlenecks: int, flows: int) -> Pipe:
    """Allocate `flows` connections over each bottleneck; without flows it needs almost no memory."""
    shape = (bottlenecks, flows, PIPE)
    segment, sent_us, acked_us = (np.zeros(shape, np.int64) for _ in range(3))
    return Pipe(segment, sent_us, acked_us, np.zeros(shape, np.int8), np.zeros(shape, np.int8))


@kernel
def start_connection(connection, pipe, s, f, control):
    """Start flow `f` of bottleneck `s` as a new connection under `control`, a value of `tcp_window.CONTROLS`."""
    connection.first_missing = connection.next_segment = connection.highest = connection.expected = 0
    connection.written = connection.read = connection.retransmitted = 0
    connection.window.control = control
    start_anew(connection)
    pipe.arrived[s, f, :] = 0


@kernel
def start_anew(connection):
    """Restart as a new connection after everything is acknowledged; segment numbers continue."""
    start_window(connection.window, connection.window.control, INITIAL_WINDOW)
    connection.recover = connection.highest - 1
    connection.recovering = connection.duplicates = 0
    connection.extra = connection.srtt_us = connection.rttvar_us = 0.0
    connection.rto_us, connection.timer_us = RTO_START_US, NEVER_US


@kernel
def next_event_us(connection, pipe, s, f):
    """Return the time of the next acknowledgement or timeout of flow `f`, int64; NEVER_US if there is none."""
    at_us = connection.timer_us
    if connection.read < connection.written:
        at_us = min(at_us, pipe.acked_us[s, f, connection.read & _MASK])
    return at_us


@kernel
def may_send(connection):
    """Return True if window and pipe allow another segment."""
    allowed = min(connection.window.cwnd + connection.extra, np.float64(MAX_WINDOW))
    in_pipe = connection.written - connection.read
    return connection.next_segment + 1 <= connection.first_missing + allowed and in_pipe < PIPE


@kernel
def take_next(connection):
    """Return the segment to send now and count it as in flight."""
    segment = connection.next_segment
    connection.next_segment += 1
    return segment


@kernel
def put_under_way(connection, pipe, s, f, segment, now_us, acked_us):
    """Count a segment of flow `f` sent at `now_us`; below `highest` it is a retransmission.

    `acked_us` is the arrival of its acknowledgement, not below that of the segment before; negative if it is lost or not yet known.
    """
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
    """Put a segment of flow `f` into the pipe, which has a free place; `again` 1: sent before, so no sample of the round trip."""
    place = connection.written & _MASK
    pipe.segment[s, f, place], pipe.sent_us[s, f, place], pipe.acked_us[s, f, place] = segment, sent_us, acked_us
    pipe.again[s, f, place] = again
    connection.written += 1


@kernel
def on_event(connection, pipe, s, f, now_us):
    """Play the next acknowledgement or timeout of flow `f`, of `next_event_us`; return the segment to retransmit at once, int64, or -1.

    An acknowledgement in the same microsecond as a timeout stops the timer.
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
    """Return the segments in flight, at most the window, since segments allowed by duplicates do not indicate the path's capacity."""
    return min(np.float64(connection.next_segment - connection.first_missing), connection.window.cwnd)


@kernel
def _receive(connection, pipe, s, f, segment):
    """Count a segment at the receiver; return the next missing one."""
    if segment >= connection.expected:
        pipe.arrived[s, f, segment & _MASK] = 1
        while pipe.arrived[s, f, connection.expected & _MASK] == 1:
            pipe.arrived[s, f, connection.expected & _MASK] = 0
            connection.expected += 1
    return connection.expected


@kernel
def _sample(connection, rtt_us):
    """Add a sample of the round-trip time (RFC 6298 2.2 and 2.3)."""
    if connection.srtt_us == 0.0:
        connection.srtt_us, connection.rttvar_us = rtt_us, rtt_us / 2.0
    else:
        connection.rttvar_us = 0.75 * connection.rttvar_us + 0.25 * abs(connection.srtt_us - rtt_us)
        connection.srtt_us = 0.875 * connection.srtt_us + 0.125 * rtt_us
    rto_us = connection.srtt_us + max(4.0 * connection.rttvar_us, np.float64(RTO_MIN_MARGIN_US))
    connection.rto_us = min(rto_us, np.float64(RTO_MAX_US))


@kernel
def _on_ack(connection, acknowledged, now_us):
    """Count all before `acknowledged` as arrived; return a segment to retransmit, or -1."""
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
    # Duplicates of segments sent before the last recovery or timeout do not indicate a new loss (RFC 6582 3.2).
    elif connection.duplicates == _DUPLICATES and connection.first_missing > connection.recover:
        cut(connection.window, _flight(connection))
        connection.recovering, connection.recover = 1, connection.highest
        connection.extra = np.float64(_DUPLICATES)
        return connection.first_missing
    return np.int64(-1)
