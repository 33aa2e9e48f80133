"""Opus' in-band FEC (LBRR) as a declared model: a coarse frame of the last packet in each packet, for no bytes, while the codec has it on.

It is on (opus_encoder.c, silk) if the loss that the codec is told is at least 1 % and its equivalent rate is above the threshold of its
bandwidth; above 5 % loss the bandwidth is lowered until it is. The codec is told what libwebrtc tells it: the loss, at most 20 %, in whole
percent, by a filter that keeps 0.9999 of its value each ms.

Left out: what it costs the primary frame, whose bits pay for the coarse one, and a lowered bandwidth; that a coarse frame is worse (R
takes it as a whole one and is too high; the call counts coarse frames); that it goes only with speech activity above 0.3. Packets stay
those of the call, 64 kbit/s, whatever rate the codec is said to have. The codec is mono, VBR, of complexity 10.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import UNPROTECTED, InBand, in_band, protect
from vcgym.baselines.protection.seen_loss import SEEN_LOSS, clear_seen_loss, see_loss
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

FULL_BAND = 4
_BASE_BPS = (12_000, 14_000, 16_000, 20_000, 22_000)  # by bandwidth: narrow, medium, wide, super-wide, full
_HYSTERESIS_BPS = 1000
_LOWERS_ABOVE = 5  # %
_KEPT = 0.9999  # of the loss that the codec is told, each ms
_LAST = 0b10
TOLD_AT_MOST = 0.2


def equivalent_bps(rate_bps: int, percent: int, frames_per_s: int) -> int:
    """Return the rate that the codec compares with its thresholds: less than its own for short frames, and for the loss that it is told."""
    rate_bps -= 60 * max(frames_per_s - 50, 0)
    return rate_bps - rate_bps * percent // (6 * percent + 10)


def threshold_bps(bandwidth: int, percent: int, was_on: bool) -> int:
    """Return the equivalent rate above which LBRR is on; `bandwidth` 0 to 4 (FULL_BAND), loss in percent."""
    base_bps = _BASE_BPS[bandwidth] + (-_HYSTERESIS_BPS if was_on else _HYSTERESIS_BPS)
    return base_bps * (125 - min(percent, 25)) * 655 >> 16


def bandwidth_with_fec(rate_bps: int, percent: int, was_on: bool, frames_per_s: int = 50, bandwidth: int = FULL_BAND) -> int | None:
    """Return the bandwidth at which LBRR is on, None if it is off.

    Args:
        rate_bps: rate of the codec.
        percent: loss that it is told, 0 to 100.
        was_on: True if the packet before had LBRR.
        frames_per_s: 50 for frames of 20 ms.
        bandwidth: that of the codec, 0 to 4.
    """
    if percent == 0:
        return None
    lowest = 0 if percent > _LOWERS_ABOVE else bandwidth
    equivalent = equivalent_bps(rate_bps, percent, frames_per_s)
    fitting = (tried for tried in range(bandwidth, lowest - 1, -1) if equivalent > threshold_bps(tried, percent, was_on))
    return next(fitting, None)


@kernel
def told_percent(row):
    """Return the loss that the codec is told, int64 percent; `row` has the fields of SEEN_LOSS."""
    return np.int64(np.rint(100.0 * min(max(row.missing, 0.0), TOLD_AT_MOST)))


OPUS_FEC = np.dtype((np.record, [*SEEN_LOSS, ("is_on", "i8")]))


@rule(Control.PROTECTION)
class OpusFec(NamedTuple):
    """Parameters: rate of the codec, packet interval."""

    rate_kbps: float = 64.0
    packet_ms: float = 10.0


class OpusFecState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of OPUS_FEC
    turns_on: NDArray[np.int64]  # (sessions, off or on before, percent of loss)


@allocate.register(OpusFec)
def _allocate(params, sessions, paths):
    require_within(params, rate_kbps=(6.0, 510.0), packet_ms=PACKET_MS_RANGE)
    percents, rate_bps = range(round(100 * TOLD_AT_MOST) + 1), round(1000 * params.rate_kbps)
    per_s = round(1000.0 / params.packet_ms)
    turns_on = [[bandwidth_with_fec(rate_bps, percent, was_on, per_s) is not None for percent in percents] for was_on in (False, True)]
    return OpusFecState(np.zeros(sessions, OPUS_FEC).view(np.recarray), np.repeat(np.array([turns_on], np.int64), sessions, axis=0))


@init.register(OpusFec)
def _init(params, state, s, start, key):
    clear_seen_loss(state.rows[s])
    state.rows[s].is_on = 0


@update.register(OpusFec)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        see_loss(state.rows[s], record.packet, 1.0 - _KEPT**params.packet_ms)


@protect.register(OpusFec)
def _protect(params, state, s, now_us, path):
    return UNPROTECTED


@in_band.register(OpusFec)
def _in_band(params, state, s, now_us):
    row = state.rows[s]
    row.is_on = state.turns_on[s, row.is_on, told_percent(row)]
    return InBand(_LAST if row.is_on == 1 else 0, 0)
