"""Media sources of a call: audio of constant rate, and video frames by one of three models, split into packets that are queued at once.

    audio        `size_bytes` every `interval_ms`
    TIMELINE     normally distributed frame sizes, with mean and deviation from a repeating timeline (the traffic of the seed paper on SBPN:
                 10 s of high motion, 5 s of low, 5 s of high)
    SERIES       measured frame sizes in order, repeated from the start at the end
    ENCODER      a rate-adaptive encoder: its rate follows the target with time constant `lag_ms`, in steps of `step_bps`; sizes are normal
                 with relative deviation `spread`; every `key_every`-th frame is `key_factor` times as large, the others smaller, so that
                 the mean stays the same

Sizes are whole bytes, at least 1, and a function of (world, frame number) and, for the encoder, of its targets. Packets have at most
`packet_bytes`; the packets of a frame differ by at most one byte.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import record, records

TIMELINE, SERIES, ENCODER = 0, 1, 2
_MAX_PARTS = 8


@record
class VideoSource:
    """Source for kernels, and the state of an encoder."""

    model: int = TIMELINE
    frame_us: int = 0  # frame interval
    packet_bytes: int = 0
    parts: int = 0  # number of parts of the timeline
    part_us: NDArray[np.int64] = np.zeros(_MAX_PARTS, np.int64)  # duration of each part
    mean_bytes: NDArray[np.float64] = np.zeros(_MAX_PARTS)
    sd_bytes: NDArray[np.float64] = np.zeros(_MAX_PARTS)
    first: int = 0  # series: offset in the pool; below, its length
    entries: int = 0
    lag_us: float = 0.0
    step_bps: float = 0.0
    min_bps: float = 0.0
    spread: float = 0.0
    key_every: int = 0
    key_factor: float = 0.0
    rate_bps: float = 0.0  # current rate of the encoder
    encoded_us: int = 0  # time of its last update


class Audio(NamedTuple):
    """Constant-rate audio; defaults from the seed paper on SBPN: 64 kbit/s of voice plus all headers."""

    size_bytes: int = 214
    interval_ms: float = 20.0


class Timeline(NamedTuple):
    """Frames of normal size; `parts`: (s, mean bytes, sd bytes). The seed paper on SBPN, section 4.1."""

    frames_per_s: float = 10.0
    packet_bytes: int = 1026
    parts: tuple[tuple[float, float, float], ...] = ((10.0, 4450.0, 1000.0), (5.0, 1075.0, 475.0), (5.0, 4450.0, 1000.0))


class Series(NamedTuple):
    """Measured frame sizes in bytes."""

    sizes_bytes: NDArray[np.int64]
    frames_per_s: float = 30.0
    packet_bytes: int = 1200


class Encoder(NamedTuple):
    """A rate-adaptive encoder with RFC 8867's reaction time of 100 ms and frame rate; deviation and key frames are declared."""

    frames_per_s: float = 30.0
    packet_bytes: int = 1200
    lag_ms: float = 100.0
    step_kbps: float = 10.0
    min_kbps: float = 50.0
    spread: float = 0.1
    key_every: int = 300
    key_factor: float = 4.0


def describe_video(which: Timeline | Series | Encoder) -> NDArray[np.void]:
    """Return a source's `VideoSource`; the sizes of a series go to the pool.

    Raises:
        ValueError: a value out of range, or an empty series or timeline.
    """
    source = records(VideoSource, 1)[0]
    require_within(which, frames_per_s=(0.1, 240.0), packet_bytes=(1, 65535))
    source["frame_us"], source["packet_bytes"] = round(1e6 / which.frames_per_s), which.packet_bytes
    if isinstance(which, Timeline):
        if not 1 <= len(which.parts) <= _MAX_PARTS:
            raise ValueError(f"Timeline.parts has {len(which.parts)} entries: allowed are 1 to {_MAX_PARTS}")
        for i, (lasts_s, mean, sd) in enumerate(which.parts):
            if not (0.0 < lasts_s <= 1e6 and 1.0 <= mean <= 1e6 and 0.0 <= sd <= 1e6):
                raise ValueError(f"Timeline.parts[{i}] = {which.parts[i]}: allowed are s above 0, a mean from 1, an sd from 0, up to 1e6")
            source["part_us"][i], source["mean_bytes"][i], source["sd_bytes"][i] = round(lasts_s * 1e6), mean, sd
        source["model"], source["parts"] = TIMELINE, len(which.parts)
    elif isinstance(which, Series):
        source["model"], source["entries"] = SERIES, len(require_sizes(which.sizes_bytes))
    else:
        require_within(
            which, lag_ms=(0.0, 1e5), step_kbps=(0.0, 1e6), min_kbps=(1.0, 1e6), spread=(0.0, 1.0), key_every=(0, 1 << 30),
            key_factor=(1.0, 100.0),
        )  # fmt: skip
        source["model"], source["lag_us"] = ENCODER, which.lag_ms * 1000
        source["step_bps"], source["min_bps"] = which.step_kbps * 1000, which.min_kbps * 1000
        source["spread"], source["key_every"], source["key_factor"] = which.spread, which.key_every, which.key_factor
    return source


def require_sizes(sizes_bytes: ArrayLike) -> NDArray[np.int64]:
    """Return frame sizes after checking them.

    Raises:
        ValueError: there are none, or one is not 1 to 10 million bytes.
    """
    sizes = np.asarray(sizes_bytes)
    if sizes.ndim != 1 or not sizes.size:
        raise ValueError(f"frame sizes have shape {sizes.shape}: allowed is (n,), n from 1")
    fine = (sizes >= 1) & (sizes <= 10_000_000)
    if not fine.all():
        raise ValueError(f"frame size {sizes[np.argmin(fine)]} at {np.argmin(fine)}: allowed are 1 to 10,000,000 bytes")
    return sizes.astype(np.int64)


def start_source(source: Any, target_bps: float) -> None:
    """Start a call; an encoder starts at its target."""
    source.rate_bps, source.encoded_us = max(target_bps, source.min_bps), 0


@kernel
def frame_bytes(source, series, seed, frame, now_us, target_bps):
    """Return the size of video frame number `frame` at `now_us`, in bytes, int64, at least 1.

    `series`, int64 (pool,), has the frame sizes of all series. An encoder, whose state is updated, follows `target_bps`, and raises it to
    its minimum; for it `now_us` is not below that of the frame before.
    """
    if source.model == SERIES:
        return series[source.first + frame % source.entries]
    if source.model == TIMELINE:
        part = _part_at(source, frame * source.frame_us)
        mean, sd = source.mean_bytes[part], source.sd_bytes[part]
    else:
        mean = _encode(source, frame, now_us, target_bps)
        sd = source.spread * mean
    drawn = rng.normal(rng.stream_key(seed, 0, rng.SOURCE), frame)
    return max(np.int64(math.floor(mean + sd * drawn + 0.5)), np.int64(1))


@kernel
def _part_at(source, at_us):
    length_us = np.int64(0)
    for part in range(source.parts):
        length_us += source.part_us[part]
    within_us = at_us % length_us
    part = 0
    while within_us >= source.part_us[part]:
        within_us -= source.part_us[part]
        part += 1
    return part


@kernel
def _encode(source, frame, now_us, target_bps):
    """Return the mean size of this frame."""
    follows = 1.0 - math.exp(-(now_us - source.encoded_us) / source.lag_us) if source.lag_us > 0.0 else 1.0
    source.rate_bps += follows * (max(target_bps, source.min_bps) - source.rate_bps)
    source.encoded_us = now_us
    rate_bps = source.rate_bps
    if source.step_bps > 0.0:
        rate_bps = max(math.floor(rate_bps / source.step_bps) * source.step_bps, source.min_bps)
    mean = rate_bps * source.frame_us / 8e6
    if source.key_every > 1:
        usual = source.key_every / (source.key_every - 1.0 + source.key_factor)
        mean *= usual * (source.key_factor if is_key(source, frame) else 1.0)
    return mean


@kernel
def is_key(source, frame):
    """Return True if a frame is a key frame of the encoder; the other models have none."""
    return source.model == ENCODER and source.key_every > 1 and frame % source.key_every == 0


@kernel
def packets_of(source, size_bytes):
    """Return the number of packets of a frame."""
    return (size_bytes + source.packet_bytes - 1) // source.packet_bytes


@kernel
def part_bytes(size_bytes, packets, i):
    """Return the size of packet i of a frame."""
    return size_bytes // packets + (1 if i < size_bytes % packets else 0)
