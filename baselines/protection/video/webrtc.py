"""libwebrtc's hybrid of retransmission and FEC for the video of a call with an uplink (media_opt_util.cc, ulpfec_generator.cc).

    NACK    each packet of a frame that a report says is lost goes again
    loss    the largest of the last ten seconds, in 255ths
    rate    b whole kbit per frame, scaled to b (pixels / (704 x 576))^-0.3: the row of the table (vcgym.baselines.protection.webrtc_rates)
    delta   the share in this row, but at least 51 if frames have several packets; none while the round trip is below 20 ms
    key     the share one row above that of twice the bits or more, as packets of key and delta frames are; at least twice the share of
            delta frames, and the loss
    off     frames of few bytes get nothing while the round trip is below 200 ms: below 400 bytes, 700 above CIF, 1000 above VGA
    block   of at most as many frames as leave in two round trips, 1 to 6; shorter as soon as rounding adds less than 50 of 256 repair
            packets, with four packets if the factor before this frame is above 80, and one more if frames have two or more

The repair packets of a block follow its last frame, for 48 packets at most. With a key frame in it the block is one of key frames. Lost
repair packets do not go again.

Left out: packet masks, here any k of the k + r packets give all; temporal layers; codecs for which retransmission turns ULPFEC off. Named
choices: a second's loss is the share lost of what was reported in it, however little, and counts from its end on for ten seconds (the
source takes receiver reports as they come, of 20 packets or more); the target has headers; each frame has the newest factors, where the
source sets them with each new target; the round trip is smoothed from a packet's departure to its report, and 100 ms before the first;
packets of a frame are its bytes over 1200.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.nack import DEFAULT_RTT_US
from vcgym.baselines.protection.protect import FrameProtection, protect_again, protect_frame, repair_size
from vcgym.baselines.protection.webrtc_rates import LOSSES, ROWS, WORST, factor_of, repair_packets, webrtc_shares, worst_255
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_CIF, _VGA, _REFERENCE = 352 * 288, 640 * 480, 704 * 576  # pixels
_MOST_255 = LOSSES - 1
_SEVERAL_255 = 51  # at least, for frames of several packets
_PAYLOAD, _PACKET = 1460, 1200  # bytes
_NACK_ALONE_MS, _FEW_BYTES_MS = 20, 200
_MOST_FRAMES = 6
_EXCESS, _HIGH, _LEAST_PACKETS, _MOST_PACKETS = 50, 80, 4, 48  # 256ths, 256ths, packets, packets
_KEEPS_PER_MS = 0.9999  # of the packets of a frame
_RTT_GAIN = 0.125  # RFC 6298

WEBRTC_VIDEO = np.dtype(
    (
        np.record,
        [
            ("second", "i8"),
            ("reported", "i8"),  # packets in this second; lost of these
            ("lost", "i8"),
            ("losses", "f8", (WORST,)),  # by second modulo WORST
            ("rtt_us", "f8"),
            ("usual", "f8", (2,)),  # packets of delta frames and of key frames; 0 before the first
            ("seen_us", "i8", (2,)),
            ("frames", "i8"),  # of the block so far, their packets, the longest of these; 1: one is a key frame
            ("packets", "i8"),
            ("longest", "i8"),
            ("has_key", "i8"),
        ],
    )
)


@rule(Control.PROTECTION)
class WebrtcVideoFec(NamedTuple):
    """Parameters: pixels of a frame."""

    pixels: int = _VGA


class WebrtcVideoState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of WEBRTC_VIDEO
    shares: NDArray[np.int64]  # (sessions, ROWS, LOSSES), of repair packets in 255ths


@allocate.register(WebrtcVideoFec)
def _allocate(params, sessions, paths):
    require_within(params, pixels=(1, 1 << 30))
    rows, shares = np.zeros(sessions, WEBRTC_VIDEO).view(np.recarray), webrtc_shares()
    return WebrtcVideoState(rows, np.broadcast_to(shares, (sessions, *shares.shape)))


@init.register(WebrtcVideoFec)
def _init(params, state, s, start, key):
    row = state.rows[s]
    row.second = row.reported = row.lost = 0
    row.losses[:] = 0.0
    row.rtt_us = DEFAULT_RTT_US
    row.usual[:] = 0.0
    row.seen_us[:] = 0
    _begin_block(row)


@kernel
def _begin_block(row):
    row.frames = row.packets = row.longest = row.has_key = 0


@kernel
def _end_seconds(row, now_us):
    """Note the losses of the seconds that are over."""
    while row.second < now_us // 1_000_000:
        row.losses[row.second % WORST] = row.lost / row.reported if row.reported > 0 else 0.0
        row.reported = row.lost = 0
        row.second += 1


@update.register(WebrtcVideoFec)
def _update(params, state, s, record):
    row, is_lost = state.rows[s], record.arrived_us == NOT_ARRIVED
    _end_seconds(row, record.known_us)
    row.reported += 1
    row.lost += 1 if is_lost else 0
    if not is_lost:
        row.rtt_us += _RTT_GAIN * (record.known_us - record.sent_us - row.rtt_us)


@kernel
def _see_size(row, frame, now_us):
    """Average the packets of frames, of delta frames and of key frames separately."""
    kind, packets = frame.is_key, frame.size_bytes / _PACKET
    keeps = _KEEPS_PER_MS ** ((now_us - row.seen_us[kind]) / 1000.0) if row.usual[kind] > 0.0 else 0.0
    row.usual[kind] = keeps * row.usual[kind] + (1.0 - keeps) * packets
    row.seen_us[kind] = now_us


@kernel
def _key_ratio(row):
    """Return how many times the bits of a delta frame a key frame counts, int64, at least 2."""
    delta, key = min(np.int64(0.5 + row.usual[0]), np.int64(255)), min(np.int64(0.5 + row.usual[1]), np.int64(255))
    return max(key // delta, 2) if delta > 0 else 2


@kernel
def shares_of(shares, loss_255, kbit, scaled, key_ratio):
    """Return the shares of repair packets in 255ths, of delta frames and of key frames, before what round trip and bytes forbid.

    Args:
        shares: int64 (ROWS, LOSSES), the table.
        loss_255: int64, loss in 255ths, 0 to 128.
        kbit: int64, bits of a frame in whole kbit.
        scaled: int64, the same scaled by the pixels.
        key_ratio: int64, how many times as many bits a key frame counts, at least 2.
    """
    if loss_255 == 0:
        return 0, 0
    delta = shares[min(max((scaled - 5) // 5, 0), ROWS - 1), loss_255]
    if np.int64(1.5 + kbit * 1000 / (8.0 * _PAYLOAD)) > 1:
        delta = max(delta, _SEVERAL_255)
    key_row = 1 + np.int64((key_ratio * scaled - 5) / 5.0)  # towards zero
    key = shares[min(key_row, ROWS - 1), loss_255]
    return delta, min(max(key, 2 * delta, loss_255), _MOST_255)


@kernel
def _factors(row, pixels, shares, frame):
    """Return the repair packets for 256 packets, of delta frames and of key frames, and the frames of a block at most; int64."""
    frames_per_s = max(np.int64(1e6 / frame.interval_us + 0.5), np.int64(1))
    kbit = max(np.int64(frame.target_bps / 1000.0 / frames_per_s), np.int64(0))
    scaled = np.int64(kbit * (pixels / _REFERENCE) ** -0.3)
    delta, key = shares_of(shares, worst_255(row.losses), kbit, scaled, _key_ratio(row))
    rtt_ms = np.int64(row.rtt_us / 1000.0)
    few = 400 if pixels <= _CIF else (700 if pixels <= _VGA else 1000)
    if 125 * kbit < few and rtt_ms < _FEW_BYTES_MS:
        delta = key = 0
    elif rtt_ms < _NACK_ALONE_MS:
        delta = 0
    most = min(max(np.int64(2.0 * frames_per_s * rtt_ms / 1000.0 + 0.5), 1), _MOST_FRAMES)
    return factor_of(delta), factor_of(key), most


@kernel
def ends_block(frames, packets, factor, factor_before, most):
    """Return True if repair packets follow the frames of a block so far.

    Args:
        frames: int64, frames of the block, 1 or more.
        packets: int64, their packets.
        factor: int64, repair packets for 256 packets.
        factor_before: int64, the same without the newest frame.
        most: int64, frames of a block at most.
    """
    least = _LEAST_PACKETS if factor_before > _HIGH else 1
    least += 1 if packets >= 2 * frames else 0
    excess = (repair_packets(packets, factor) << 8) // packets - factor
    return frames >= most or (excess < _EXCESS and packets >= least)


@protect_frame.register(WebrtcVideoFec)
def _protect_frame(params, state, s, now_us, frame):
    row = state.rows[s]
    _end_seconds(row, now_us)
    _see_size(row, frame, now_us)
    of_delta, of_key, most = _factors(row, params.pixels, state.shares[s], frame)
    factor_before = of_key if row.has_key == 1 else of_delta
    row.frames += 1
    row.packets = min(row.packets + frame.packets, _MOST_PACKETS)
    row.longest = max(row.longest, frame.longest_bytes)
    row.has_key = max(row.has_key, frame.is_key)
    factor = of_key if row.has_key == 1 else of_delta
    if not ends_block(row.frames, row.packets, factor, factor_before, most):
        return FrameProtection(0, 0, 0)
    decided = FrameProtection(repair_packets(row.packets, factor), row.frames - 1, repair_size(row.packets, row.longest))
    _begin_block(row)
    return decided


@protect_again.register(WebrtcVideoFec)
def _protect_again(params, state, s, packets, lost, remaining_us):
    return lost
