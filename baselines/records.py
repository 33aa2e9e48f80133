"""Inputs of rules: the start of a call, then one record at a time.

Times are int64 microseconds of the call; `known_us` is the instant at which a record reaches the location of the rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.playout.in_flight import COPY as COPY
from vcgym.network.playout.in_flight import MEDIA as MEDIA
from vcgym.network.playout.in_flight import PROBE as PROBE
from vcgym.network.playout.in_flight import REPAIR as REPAIR

NOT_ARRIVED = -1


class PathHistory(NamedTuple):
    """Start of a router or a receiver: one-way delays of each path before the call, arrays (paths,) float64."""

    samples: NDArray[np.float64]  # number of samples; 0: the path is unknown
    mean_ms: NDArray[np.float64]
    sd_ms: NDArray[np.float64]


class RateLimits(NamedTuple):
    """Start of a rate rule: the first target bitrate and the range allowed by the call, in bit/s."""

    start_bps: float
    min_bps: float
    max_bps: float


class Record(NamedTuple):
    """Arrived packet, reported to a router or a receiver.

    At the receiver a packet is MEDIA at its first arrival, by whatever path. Elsewhere MEDIA is the packet's own transmission, on the path
    of the call, and a copy is COPY whether it came first or not. What is not MEDIA is news of its path and no more.
    """

    kind: int  # MEDIA, PROBE, COPY or REPAIR
    packet: int  # index of the packet; for a probe that of the last packet before it
    path: int
    sent_us: int
    arrived_us: int  # at the receiver
    known_us: int
    lag_us: int  # the receiver's lag or target in force when it arrived, before it changed it
    late: int  # 1: the receiver discarded it


class PacketFeedback(NamedTuple):
    """Outcome of one packet in a receiver report, given to a rate rule."""

    packet: int  # number, from 0 in order of sending
    size_bytes: int  # including all headers
    sent_us: int
    arrived_us: int  # at the receiver, or NOT_ARRIVED if a later packet arrived first
    known_us: int  # arrival of the report at the sender
    marked: int = 0  # 1: congestion experienced (RFC 3168); only packets of rules with `reads_marks` are marked


class SenderStatus(NamedTuple):
    """Status of the sender, given to a rate rule before each decision; bytes are totals since the start of the call."""

    waiting_bytes: int  # in the send queue
    captured_bytes: int  # all media
    sent_bytes: int
    frames: int  # video frames captured so far
    frame_bytes: int  # size of the newest frame
    frame_us: int  # frame interval


@kernel
def write_record(rows, i, record):
    """Write a record as row `i` of `rows` (rows, 8) int64, in the order of the fields of `Record`."""
    rows[i, 0], rows[i, 1], rows[i, 2] = record.kind, record.packet, record.path
    rows[i, 3], rows[i, 4], rows[i, 5] = record.sent_us, record.arrived_us, record.known_us
    rows[i, 6], rows[i, 7] = record.lag_us, record.late


@kernel
def read_record(rows, i):
    """Return the record that `write_record` wrote as row `i` of `rows`."""
    return Record(rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5], rows[i, 6], rows[i, 7])


@allocating_kernel
def path_history(rows):
    """Return the history with `rows` (paths, 3) float64: samples, mean and standard deviation (ms)."""
    return PathHistory(rows[:, 0], rows[:, 1], rows[:, 2])
