"""Models of Opus: its in-band FEC equals that of libopus itself, and thresholds and budgets by hand from the sources."""

import ctypes
from pathlib import Path

import av
import numpy as np
import pytest

from vcgym.baselines.protection.opus import FULL_BAND, bandwidth_with_fec, dred_budget, equivalent_bps, threshold_bps, units_bits

RATE = 48_000
VOIP, VOICE, NARROW_BAND = 2048, 3001, 1101
SET_BITRATE, SET_BANDWIDTH, SET_COMPLEXITY, SET_FEC, SET_LOSS, SET_SIGNAL = 4002, 4008, 4010, 4012, 4014, 4024


@pytest.fixture(scope="module")
def opus():
    """Return the libopus that PyAV comes with."""
    site = Path(av.__file__).parents[1]
    (found,) = (file for place in ("av.libs", "av/.dylibs") for file in (site / place).glob("libopus*"))  # of Linux, of macOS
    library = ctypes.CDLL(str(found))
    library.opus_encoder_ctl.argtypes = [ctypes.c_void_p, ctypes.c_int]  # the value after them is a variable argument
    library.opus_encoder_create.restype = library.opus_decoder_create.restype = ctypes.c_void_p
    return library


def voice(seconds):
    """Return a buzz with the pitch and the syllables of a voice, int16."""
    at = np.arange(round(RATE * seconds)) / RATE
    phase = 2.0 * np.pi * np.cumsum(120.0 + 15.0 * np.sin(6.0 * np.pi * at)) / RATE
    sound = sum(np.sin(k * phase) / k for k in range(1, 30)) * (0.6 + 0.4 * np.sin(8.0 * np.pi * at))
    return (12_000.0 * sound / np.abs(sound).max()).astype(np.int16)


def encoded(opus, pcm, frame, rate_bps, loss_percent, bandwidth):
    """Return the packets of a mono VBR encoder of complexity 10 with in-band FEC allowed."""
    error, packet = ctypes.c_int(), ctypes.create_string_buffer(4000)
    encoder = ctypes.c_void_p(opus.opus_encoder_create(RATE, 1, VOIP, ctypes.byref(error)))
    settings = {
        SET_BITRATE: rate_bps, SET_FEC: 1, SET_LOSS: loss_percent, SET_COMPLEXITY: 10, SET_SIGNAL: VOICE,
        SET_BANDWIDTH: NARROW_BAND + bandwidth,
    }  # fmt: skip
    for request, value in settings.items():
        assert opus.opus_encoder_ctl(encoder, ctypes.c_int(request), ctypes.c_int(value)) == 0
    packets = []
    for first in range(0, len(pcm) - frame + 1, frame):
        samples = np.ascontiguousarray(pcm[first : first + frame]).ctypes.data_as(ctypes.c_void_p)
        size = opus.opus_encode(encoder, samples, frame, packet, 4000)
        packets.append(packet.raw[:size])
    opus.opus_encoder_destroy(encoder)
    return packets


def model(rate_bps, loss_percent, bandwidth, frames_per_s):
    """Return whether the model has FEC on after some packets, and the bandwidth then."""
    found = None
    for _ in range(3):
        found = bandwidth_with_fec(rate_bps, loss_percent, found is not None, frames_per_s, bandwidth)
    return found is not None, found


@pytest.mark.parametrize("frames_per_s", [50, 100])
@pytest.mark.parametrize("bandwidth", range(FULL_BAND + 1))
def test_the_encoder_has_it_on_where_the_model_does(opus, frames_per_s, bandwidth):
    pcm, frame = voice(0.5), RATE // frames_per_s
    for loss_percent in (1, 5, 6, 10, 20):
        for rate_bps in range(9_000, 46_000, 1_000):
            packets = encoded(opus, pcm, frame, rate_bps, loss_percent, bandwidth)
            on = any(opus.opus_packet_has_lbrr(packet, len(packet)) for packet in packets)
            shown = opus.opus_packet_get_bandwidth(packets[-1]) - NARROW_BAND
            expected = model(rate_bps, loss_percent, bandwidth, frames_per_s)
            assert (on, shown if on else None) == expected, (loss_percent, rate_bps)


def test_the_decoder_hears_a_lost_packet_in_the_next(opus):
    """What FEC gives for a lost packet resembles its frame far more than concealment does."""
    frame, pcm = RATE // 50, voice(2.0)
    packets = encoded(opus, pcm, frame, 32_000, 10, FULL_BAND)
    lost = [n for n in range(20, len(packets) - 1, 9) if opus.opus_packet_has_lbrr(packets[n + 1], len(packets[n + 1]))]
    whole, repaired, concealed = (_decoded(opus, packets, frame, missing, fec) for missing, fec in (((), 0), (lost, 1), (lost, 0)))
    likeness = [
        np.mean([np.corrcoef(whole[n * frame : (n + 1) * frame], heard[n * frame : (n + 1) * frame])[0, 1] for n in lost])
        for heard in (repaired, concealed)
    ]
    assert len(lost) >= 3 and 1.0 - likeness[0] < 0.5 * (1.0 - likeness[1])


def _decoded(opus, packets, frame, lost, fec):
    """Return what a decoder plays; a lost packet is decoded from the next one with FEC, or concealed."""
    error, out = ctypes.c_int(), (ctypes.c_int16 * frame)()
    decoder, heard = ctypes.c_void_p(opus.opus_decoder_create(RATE, 1, ctypes.byref(error))), []
    for n, packet in enumerate(packets):
        given = (packets[n + 1] if fec else None) if n in lost else packet
        assert opus.opus_decode(decoder, given, len(given or b""), out, frame, 1 if n in lost and fec else 0) == frame
        heard.append(np.array(out, np.float64))
    opus.opus_decoder_destroy(decoder)
    return np.concatenate(heard)


WIDE = 2


def test_thresholds_of_opus_fec():
    for band, percent, on_bps, off_bps in ((WIDE, 10, 19539, 17240), (FULL_BAND, 10, 26435, 24136), (FULL_BAND, 5, 27584, 25186)):
        assert (threshold_bps(band, percent, False), threshold_bps(band, percent, True)) == (on_bps, off_bps)
    assert equivalent_bps(32_000, 5, 50) == 28_000 and equivalent_bps(24_000, 10, 50) == pytest.approx(20_571, abs=1)
    assert equivalent_bps(64_000, 0, 100) == 61_000
    assert bandwidth_with_fec(32_000, 5, False) == FULL_BAND
    assert bandwidth_with_fec(24_000, 10, False) == WIDE
    assert bandwidth_with_fec(24_000, 5, False) is None and bandwidth_with_fec(6_000, 20, False) is None
    assert bandwidth_with_fec(64_000, 0, True) is None
    # 29.7 kbit/s at 5 % are 26 kbit/s: between the thresholds it stays as it was.
    assert (bandwidth_with_fec(29_700, 5, False), bandwidth_with_fec(29_700, 5, True)) == (None, FULL_BAND)


@pytest.mark.parametrize(
    ("rate_bps", "budgets", "bits", "full_bps"),
    [
        (24_000, [(0, 0), (80, 7_800), (160, 9_000)], 335, 16_750),
        (32_000, [(120, 12_000), (120, 13_000), (200, 15_000)], 494, 24_700),
        (64_000, [(440, 31_200), (480, 33_800), (640, 39_000)], 969, 48_450),
    ],
)
def test_budgets_of_dred(rate_bps, budgets, bits, full_bps):
    for loss, (duration_ms, dred_bps) in zip((0.05, 0.1, 0.2), budgets, strict=True):
        found = dred_budget(rate_bps, loss)
        assert (40 * found.units, found.rate_bps) == (duration_ms, pytest.approx(dred_bps))
    whole = units_bits(rate_bps - 12_000, 26)
    assert whole == pytest.approx(bits, abs=0.5) and 50 * whole == pytest.approx(full_bps, abs=25)
    assert dred_budget(rate_bps, 0.01).units == 0
