"""Audio of a live call: WAV to Opus packets of 10 ms and back, through PyAV.

Concealment is the decoder's own: a packet of one byte, the table of contents (RFC 6716, section 3.1), has no frame data, so that libopus
extrapolates. A stretched tick is played in the same way. A fast tick fades from one unit to the next within 10 ms.
"""

import fractions
import io
import itertools
import wave
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from numpy.typing import NDArray

from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.traces.plain_file import read_plain, replace_file

RATE_HZ = 48_000
MAX_WAV_BYTES = 1 << 29  # an hour and a half
UNIT_SAMPLES = RATE_HZ * SLOT_US // 1_000_000
BITS_PER_S = 32_000
_CODE_BITS = 0b11  # of the table of contents: the number of frames


def read_wav(path: Path) -> NDArray[np.int16]:
    """Return the samples (n,) of a WAV file of 16 bits and one channel at 48 kHz.

    Raises:
        ValueError: the file cannot be read, is larger than MAX_WAV_BYTES, or has another form.
    """
    try:
        with wave.open(io.BytesIO(read_plain(path, MAX_WAV_BYTES)), "rb") as file:
            form = file.getsampwidth(), file.getnchannels(), file.getframerate()
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError(f"{path} is no WAV file: {error}") from error
    if form != (2, 1, RATE_HZ) or not content:
        raise ValueError(f"{path} has {form} bytes per sample, channels and Hz: allowed is (2, 1, {RATE_HZ}), and at least one sample")
    return np.frombuffer(content, "<i2").astype(np.int16)


def write_wav(path: Path, samples: NDArray[np.int16]) -> None:
    """Write samples (n,) of one channel at 48 kHz."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((2, 1, RATE_HZ, len(samples), "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    replace_file(path, content.getvalue())


def tones(seconds: float) -> NDArray[np.int16]:
    """Return a test signal: a tone that moves through an octave, switched on and off as syllables are, 4 times a second."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    loud = np.sin(2.0 * np.pi * 2.0 * t) ** 2
    return np.rint(8000.0 * loud * np.sin(2.0 * np.pi * (330.0 * t + 50.0 * np.sin(t)))).astype(np.int16)


def encoded(samples: NDArray[np.int16]) -> Iterator[bytes]:
    """Yield an Opus packet for each 10 ms of the samples, which repeat without end."""
    encoder = _codec("w")
    encoder.format, encoder.bit_rate = av.AudioFormat("s16"), BITS_PER_S
    encoder.options = {"frame_duration": "10", "application": "voip"}
    whole = np.resize(samples, max(-(-len(samples) // UNIT_SAMPLES), 1) * UNIT_SAMPLES).reshape(-1, 1, UNIT_SAMPLES)
    for number, unit in enumerate(itertools.cycle(whole)):
        frame = av.AudioFrame.from_ndarray(unit, format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = RATE_HZ, fractions.Fraction(1, RATE_HZ), number * UNIT_SAMPLES
        for packet in encoder.encode(frame):
            yield bytes(packet)


def rendered(played_us: NDArray[np.int64], packets: Mapping[int, bytes]) -> NDArray[np.int16]:
    """Return the samples that a listener heard, from the first tick to the last.

    Args:
        played_us: (units,) tick at which each unit was played, -1 if never (`vcgym.envs.call.batch.Played`).
        packets: Opus packet of each unit that was played; one that cannot be decoded is concealed.
    """
    decoder, heard = _codec("r"), []
    by_tick: dict[int, list[int]] = {}
    for unit in np.flatnonzero(played_us >= 0).tolist():
        by_tick.setdefault(int(played_us[unit]), []).append(unit)
    nothing = b"\x00"
    for tick_us in range(min(by_tick, default=0), max(by_tick, default=-1) + 1, SLOT_US):
        units = []
        for packet in filter(None, (packets[unit] for unit in by_tick.get(tick_us, []))):  # an empty one would end the decoder
            with suppress(av.FFmpegError):
                units.append(_decoded(decoder, packet))
                nothing = bytes((packet[0] & ~_CODE_BITS,))
        if not units:
            heard.append(_decoded(decoder, nothing))
            continue
        fade = np.linspace(0.0, 1.0, UNIT_SAMPLES) if len(units) > 1 else 0.0
        heard.append(np.rint((1.0 - fade) * units[0] + fade * units[-1]).astype(np.int16))
    return np.concatenate(heard) if heard else np.zeros(0, np.int16)


def _codec(mode: Literal["r", "w"]) -> AudioCodecContext:
    codec = av.CodecContext.create("libopus", mode)
    codec.sample_rate, codec.layout = RATE_HZ, av.AudioLayout("mono")
    return codec


def _decoded(decoder: AudioCodecContext, packet: bytes) -> NDArray[np.int16]:
    """Return 10 ms of samples; before the first packet that carries sound, silence."""
    frames = [frame.to_ndarray() for frame in decoder.decode(av.Packet(packet))]
    samples = np.concatenate(frames, axis=1)[0] if frames else np.zeros(0, np.int16)
    return np.resize(samples, UNIT_SAMPLES) if samples.size else np.zeros(UNIT_SAMPLES, np.int16)
