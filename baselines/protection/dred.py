"""DRED, the deep redundancy of Opus 1.5, as a declared model: each packet carries coarse frames of the last tens to hundreds of ms.

A unit is 40 ms of speech. Unit i, 0 the newest, has quantiser min(15, q0 + (c i + 8) / 16), rounded down, with nominal bits by quantiser;
as many units go as the budget allows that the codec gives them (opus_encoder.c, compute_dred_bitrate). The codec is told the loss as in
`opus_fec`. Here the units go beyond the frame of the call, whose quality stays, and their nominal bits are paid as bytes.

Left out: that quality falls with age (R takes a coarse frame as a whole one and is too high; the call counts coarse frames);
what is more than 62 packets back, so 15 units go at most with packets of 10 ms; that the codec takes the bits from its own
frame, and real sizes about nominal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.opus_fec import OPUS_FEC, TOLD_AT_MOST, OpusFec, told_percent
from vcgym.baselines.protection.protect import DISTANCES, InBand, in_band, protect
from vcgym.baselines.protection.seen_loss import clear_seen_loss
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within

MOST_UNITS = 26
_UNIT_MS = 40
_BITS = (73.2, 68.1, 62.5, 57.0, 51.5, 45.7, 39.9, 32.4, 26.4, 20.4, 16.3, 13.0, 9.3, 8.2, 7.2, 6.4)  # of a unit, by quantiser
_HEADER_BITS = 90
_SPEECH_BPS = 12_000
_FINE_ABOVE_BPS = 36_000


class DredBudget(NamedTuple):
    """Share of DRED: units in each packet, and the rate that the codec sets aside for them."""

    units: int
    rate_bps: float


def units_bits(x_bps: int, units: int) -> float:
    """Return the nominal bits of so many units in one packet; `x_bps` is the rate above that of plain speech, at least 0."""
    first = min(max(51 - 3 * x_bps.bit_length(), 4), 15)
    growth = 4 if x_bps > _FINE_ABOVE_BPS else 8
    quantisers = [min(15, first + (growth * unit + 8) // 16) for unit in range(units)]
    return _HEADER_BITS + _BITS[first] + sum(_BITS[quantiser] for quantiser in quantisers)


def dred_budget(rate_bps: int, loss: float, packet_ms: int = 20) -> DredBudget:
    """Return what a codec of this rate, with LBRR off, gives to DRED; nothing if fewer than two units fit.

    Args:
        rate_bps: rate of the codec, with DRED.
        loss: share of loss that it is told, 0 to 1.
        packet_ms: duration of a packet.
    """
    x_bps = max(rate_bps - _SPEECH_BPS, 0)
    share = 12.0 * loss if loss <= 0.05 else min(0.8, 0.55 + loss)
    share /= share + (1.0 - share) * packet_ms / 20.0
    packets_per_s = 1000.0 / packet_ms
    given_bps = min(share * x_bps, units_bits(x_bps, MOST_UNITS) * packets_per_s)
    units = sum(units_bits(x_bps, n) * packets_per_s <= given_bps for n in range(1, MOST_UNITS + 1))
    return DredBudget(units, given_bps) if units >= 2 else DredBudget(0, 0.0)


@rule(Control.PROTECTION)
class Dred(NamedTuple):
    """Parameters: rate of the codec, of which DRED gets its share, and packet interval."""

    rate_kbps: float = 64.0
    packet_ms: float = 10.0


class DredState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of OPUS_FEC, with LBRR off
    plan: NDArray[np.int64]  # (sessions, percent of loss, 2): set of packets, and bytes


def dred_in_packet(rate_bps: int, percent: int, packet_ms: int = 10) -> InBand:
    """Return what one packet carries; rate of the codec, loss in percent that it is told, and packet interval."""
    units = min(dred_budget(rate_bps, percent / 100.0, packet_ms).units, DISTANCES * packet_ms // _UNIT_MS)
    if units == 0:
        return InBand(0, 0)
    packets = units * _UNIT_MS // packet_ms
    bits = units_bits(rate_bps - _SPEECH_BPS, units)
    return InBand(((1 << packets) - 1) << 1, int(np.ceil(bits / 8.0)))


@allocate.register(Dred)
def _allocate(params, sessions, paths):
    require_within(params, rate_kbps=(6.0, 510.0), packet_ms=PACKET_MS_RANGE)
    rate_bps, packet_ms = round(1000 * params.rate_kbps), round(params.packet_ms)
    plan = [dred_in_packet(rate_bps, percent, packet_ms) for percent in range(round(100 * TOLD_AT_MOST) + 1)]
    return DredState(np.zeros(sessions, OPUS_FEC).view(np.recarray), np.repeat(np.array([plan], np.int64), sessions, axis=0))


@init.register(Dred)
def _init(params, state, s, start, key):
    clear_seen_loss(state.rows[s])


for function in (update, protect):
    function.register(Dred)(function.versions[OpusFec])


@in_band.register(Dred)
def _in_band(params, state, s, now_us):
    frames, size = state.plan[s, told_percent(state.rows[s])]
    return InBand(frames, size)
