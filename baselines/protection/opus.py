"""Protection by Opus itself, as declared models: in-band FEC (LBRR), and DRED, the deep redundancy of Opus 1.5.

LBRR is a coarse frame of the last packet in each packet, for no bytes. It is on (opus_encoder.c, silk) if the loss that the codec is told
is at least 1 % and its equivalent rate is above the threshold of its bandwidth; above 5 % loss the bandwidth is lowered until it is.

DRED is coarse frames of the last tens to hundreds of ms in each packet. A unit is 40 ms of speech. Unit i, 0 the newest, has quantiser
min(15, q0 + (c i + 8) / 16), rounded down, with nominal bits by quantiser; as many units go as the budget allows that the codec gives them
(opus_encoder.c, compute_dred_bitrate). Here the units go beyond the frame of the call, whose quality stays, and their nominal bits are
paid as bytes.

The codec is told what libwebrtc tells it: the loss, at most 20 %, in whole percent, by a filter that keeps 0.9999 of its value each ms. It
is mono, VBR, of complexity 10.

Left out: that a coarse frame is worse, of DRED the more the older it is (R takes it as a whole one and is too high; the call counts coarse
frames). Of LBRR what it costs the primary frame, whose bits pay for the coarse one, and a lowered bandwidth; that it goes only with speech
activity above 0.3. Packets stay those of the call, 64 kbit/s, whatever rate the codec is said to have. Of DRED what is more than 62 packets
back, so 15 units go at most with packets of 10 ms; that the codec takes the bits from its own frame, and real sizes about nominal.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import DISTANCES, UNPROTECTED, InBand
from vcgym.baselines.protection.seen import SeenLoss, see_loss
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Table, record, rule
from vcgym.network.kernels.jit import kernel

FULL_BAND = 4
_BASE_BPS = (12_000, 14_000, 16_000, 20_000, 22_000)  # by bandwidth: narrow, medium, wide, super-wide, full
_HYSTERESIS_BPS = 1000
_LOWERS_ABOVE = 5  # %
_KEPT = 0.9999  # of the loss that the codec is told, each ms
_LAST = 0b10
_TOLD_AT_MOST = 0.2  # share of loss
_PERCENTS = range(round(100 * _TOLD_AT_MOST) + 1)
_MOST_UNITS = 26
_UNIT_MS = 40
_BITS = (73.2, 68.1, 62.5, 57.0, 51.5, 45.7, 39.9, 32.4, 26.4, 20.4, 16.3, 13.0, 9.3, 8.2, 7.2, 6.4)  # of a unit, by quantiser
_HEADER_BITS = 90
_SPEECH_BPS = 12_000
_FINE_ABOVE_BPS = 36_000


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
    given_bps = min(share * x_bps, units_bits(x_bps, _MOST_UNITS) * packets_per_s)
    units = sum(units_bits(x_bps, n) * packets_per_s <= given_bps for n in range(1, _MOST_UNITS + 1))
    return DredBudget(units, given_bps) if units >= 2 else DredBudget(0, 0.0)


def dred_in_packet(rate_bps: int, percent: int, packet_ms: int = 10) -> InBand:
    """Return what one packet carries; rate of the codec, loss in percent that it is told, and packet interval."""
    units = min(dred_budget(rate_bps, percent / 100.0, packet_ms).units, DISTANCES * packet_ms // _UNIT_MS)
    if units == 0:
        return InBand(0, 0)
    packets = units * _UNIT_MS // packet_ms
    bits = units_bits(rate_bps - _SPEECH_BPS, units)
    return InBand(((1 << packets) - 1) << 1, int(np.ceil(bits / 8.0)))


@record
class Row:
    loss: SeenLoss = SeenLoss()
    is_on: int = 0  # whether the packet before had any


def _lbrr_plan(params: Any) -> NDArray[np.int64]:
    """Return the set of packets and the bytes of each packet, (off or on before, percent of loss, 2)."""
    rate_bps, per_s = round(1000 * params.rate_kbps), round(1000.0 / params.packet_ms)
    on = [[bandwidth_with_fec(rate_bps, percent, was_on, per_s) is not None for percent in _PERCENTS] for was_on in (False, True)]
    return np.array([[(_LAST if is_on else 0, 0) for is_on in row] for row in on])


def _dred_plan(params: Any) -> NDArray[np.int64]:
    """Return the same for DRED."""
    return np.array([[dred_in_packet(round(1000 * params.rate_kbps), percent, round(params.packet_ms)) for percent in _PERCENTS]] * 2)


@rule(Control.PROTECTION, row=Row, plan=Table(_lbrr_plan))
class OpusFec(NamedTuple):
    """LBRR. Parameters: rate of the codec, packet interval."""

    rate_kbps: Annotated[float, (6.0, 510.0)] = 64.0
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def update(self, row, plan, record):
        _see(self, row, record)

    def protect(self, row, plan, now_us, path):
        return UNPROTECTED

    def in_band(self, row, plan, now_us):
        return _planned(row, plan)


@rule(Control.PROTECTION, row=Row, plan=Table(_dred_plan))
class Dred(NamedTuple):
    """DRED with LBRR off. Parameters: rate of the codec, of which DRED gets its share, and packet interval."""

    rate_kbps: Annotated[float, (6.0, 510.0)] = 64.0
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def update(self, row, plan, record):
        _see(self, row, record)

    def protect(self, row, plan, now_us, path):
        return UNPROTECTED

    def in_band(self, row, plan, now_us):
        return _planned(row, plan)


@kernel
def _see(params, row, record):
    if record.kind == MEDIA:
        see_loss(row.loss, record.packet, 1.0 - _KEPT**params.packet_ms)


@kernel
def _planned(row, plan):
    loss_percent = np.int64(np.rint(100.0 * min(max(row.loss.missing, 0.0), _TOLD_AT_MOST)))
    frames, size = plan[row.is_on, loss_percent]
    row.is_on = 1 if frames != 0 else 0
    return InBand(frames, size)
