"""Emission times of packets at the receiver, worked out at the sender from what is fed back, to teach a predictor.

A record tells when a packet arrived and which lag was then in force, so the receiver's watermark (VCRoute paper, Algorithm 1, as in
`vcgym.network.playout.receiver`) can be moved along: the lag that an arrival sets stands in the record of the next one, so each arrival
is settled
when the next record comes. With every record fed back these are the receiver's own emissions to the microsecond, but for those after the
last record. A packet that another path carried than the one expected is not told of. A lost record costs its packet's emission, and those
it would have let go come with a later one. A count buffer holds no watermark: of one these are only what a watermark with its target as
lag would do.

The table remembers one row per packet: what was expected of it as it left, by packet modulo its length.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

AWAITED = 512  # packets remembered, a power of two; one out longer than that teaches nothing
_MASK = AWAITED - 1
_NOBODY = -1
_BEGINNING_US = -(1 << 60)

EXPECTED = np.dtype(
    (
        np.record,
        [
            ("packet", "i8"),
            ("path", "i8"),
            ("here", "i8"),  # 1: it has arrived and not come out
            ("transmit_ms", "f8"),  # what the forecast was made of
            ("jitter_ms", "f8"),
            ("forecast_ms", "f8"),
        ],
    )
)
EMISSIONS = np.dtype(
    (
        np.record,
        [
            ("passed", "i8"),  # the watermark has passed every packet below
            ("watermark_us", "i8"),
            ("last", "i8"),  # the arrival to be settled, by its packet; or _NOBODY
            ("last_path", "i8"),
            ("last_arrived_us", "i8"),
            ("last_late", "i8"),
            ("expected", EXPECTED, (AWAITED,)),
        ],
    )
)


@kernel
def start_emissions(emissions):
    """Forget all packets."""
    emissions.passed = 0
    emissions.watermark_us = _BEGINNING_US
    emissions.last = _NOBODY
    for index in range(AWAITED):
        emissions.expected[index].packet = _NOBODY


@kernel
def expect_emission(emissions, packet, path, transmit_ms, jitter_ms, forecast_ms):
    """Remember a packet that leaves on `path`."""
    entry = emissions.expected[packet & _MASK]
    entry.packet = packet
    entry.path = path
    entry.here = 0
    entry.transmit_ms = transmit_ms
    entry.jitter_ms = jitter_ms
    entry.forecast_ms = forecast_ms


@kernel
def settle_last(emissions, lag_us):
    """Move the watermark by the lag that the last arrival set. What it lets go can then be taken with `next_emitted`."""
    if emissions.last == _NOBODY or emissions.last_late == 1:
        return
    entry = emissions.expected[emissions.last & _MASK]
    if entry.packet == emissions.last and entry.path == emissions.last_path:
        entry.here = 1
    emissions.watermark_us = max(emissions.watermark_us, emissions.last * SLOT_US - lag_us)


@kernel
def next_emitted(emissions):
    """Return the index in the table of the next packet that the last arrival let go; -1: no more. It came out as that packet arrived."""
    while emissions.passed * SLOT_US <= emissions.watermark_us:
        index = emissions.passed & _MASK
        entry = emissions.expected[index]
        is_here = entry.packet == emissions.passed and entry.here == 1
        if emissions.passed * SLOT_US == emissions.watermark_us and not is_here:
            return -1  # at the watermark exactly it is still welcome
        emissions.passed += 1
        if is_here:
            entry.here = 0
            return index
    return -1


@kernel
def hear_arrival(emissions, record):
    """Remember an arrival until its lag is known; after `settle_last` and `next_emitted`."""
    emissions.last = record.packet
    emissions.last_path = record.path
    emissions.last_arrived_us = record.arrived_us
    emissions.last_late = record.late
