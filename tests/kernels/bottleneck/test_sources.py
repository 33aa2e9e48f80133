"""Traffic sources of a call: means, spreads and packets against their declared formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.bottleneck.sources import (
    Audio,
    Encoder,
    Series,
    Timeline,
    describe_video,
    frame_bytes,
    packets_of,
    part_bytes,
    require_sizes,
    start_source,
)

NO_SERIES = np.ones(1, np.int64)


def started(which, target_bps=1e6):
    source = describe_video(which)
    start_source(source, target_bps)
    return source


def sizes_of(which, frames, targets_bps=1e6, seed=7, series=NO_SERIES):
    targets = np.broadcast_to(np.asarray(targets_bps, np.float64), frames)
    source = started(which, targets[0])
    return np.array([frame_bytes(source, series, np.uint64(seed), i, i * source.frame_us, targets[i]) for i in range(frames)])


def test_rates_of_the_traffic():
    """S-1: 85.6 kbit/s of audio, 288.5 of video, 374.1 together; about 519 bytes a packet and 90 packets a second."""
    audio = Audio()
    assert audio.size_bytes * 8 * 1000 / audio.interval_ms == 85_600
    sizes = np.concatenate([sizes_of(Timeline(), 600, seed=seed) for seed in range(30)])
    error = math.sqrt(0.75 * 1000**2 + 0.25 * 475**2) / math.sqrt(len(sizes))
    assert sizes.mean() == pytest.approx(3606.25, abs=4 * error)
    assert sizes.mean() * 80 + 85_600 == pytest.approx(374_100, abs=4 * 80 * error)
    packets = np.array([packets_of(started(Timeline()), size) for size in sizes])
    per_second = 50 + 10 * packets.mean()
    assert per_second == pytest.approx(90, abs=1)
    assert 374_100 / 8 / per_second == pytest.approx(519, abs=6)


def test_parts_of_the_timeline():
    sizes = np.array([sizes_of(Timeline(), 600, seed=seed) for seed in range(40)]).reshape(40, 3, 200)
    high, low = np.concatenate([sizes[:, :, :100], sizes[:, :, 150:]], axis=2), sizes[:, :, 100:150]
    assert (high.mean(), high.std()) == pytest.approx((4450, 1000), rel=0.02)
    # Cut off at one byte: 1.2 % of the law of small frames lies below.
    assert (low.mean(), low.std()) == pytest.approx((1075, 475), rel=0.03)
    assert low.min() == 1


def test_series_begins_again():
    which = Series(np.array([100, 5000, 1]))
    assert sizes_of(which, 7, series=np.array([9, 100, 5000, 1]))[:1] == 9  # where the batch put it
    source = started(which)
    source.first = 1
    assert [frame_bytes(source, np.array([9, 100, 5000, 1]), np.uint64(0), i, 0, 1e6) for i in range(5)] == [100, 5000, 1, 100, 5000]


def test_encoder_follows_with_its_lag():
    """After a step each frame closes 1 - exp(-frame / lag) of the gap."""
    which = Encoder(spread=0.0, key_every=0, step_kbps=0.0, lag_ms=100.0, frames_per_s=25.0)
    sizes = sizes_of(which, 40, np.where(np.arange(40) < 10, 1e6, 2e6))
    expected = 2e6 - 1e6 * np.exp(-0.4 * np.maximum(np.arange(40) - 9, 0))
    assert sizes * 8 * 25 == pytest.approx(expected, abs=8 * 25)
    at_once = sizes_of(which._replace(lag_ms=0.0), 20, np.where(np.arange(20) < 10, 1e6, 2e6))
    assert at_once.tolist() == [5000] * 10 + [10_000] * 10


def test_encoder_goes_in_steps_and_no_lower_than_it_can():
    which = Encoder(spread=0.0, key_every=0, step_kbps=100.0, min_kbps=50.0, lag_ms=0.0, frames_per_s=25.0)
    for target, rate in ((199e3, 100e3), (200e3, 200e3), (20e3, 50e3), (0.0, 50e3), (99e3, 50e3)):
        assert sizes_of(which, 1, target)[0] * 8 * 25 == rate


def test_key_frames_keep_the_mean():
    which = Encoder(spread=0.0, key_every=30, key_factor=4.0, step_kbps=0.0)
    sizes = sizes_of(which, 300)
    assert sizes[::30] / sizes[1::30] == pytest.approx(4.0, rel=1e-3)
    assert sizes.mean() * 8 * 30 == pytest.approx(1e6, rel=1e-3)


def test_spread_of_frames():
    sizes = sizes_of(Encoder(spread=0.1, key_every=0, step_kbps=0.0), 3000)
    assert sizes.std() / sizes.mean() == pytest.approx(0.1, rel=0.05)


@given(st.integers(1, 1_000_000), st.integers(1, 65535))
def test_parts_of_a_frame(size_bytes, packet_bytes):
    source = started(Timeline(packet_bytes=packet_bytes))
    packets = packets_of(source, size_bytes)
    first, last = part_bytes(size_bytes, packets, 0), part_bytes(size_bytes, packets, packets - 1)
    assert packets == -(-size_bytes // packet_bytes)
    assert first - last in (0, 1)
    assert 1 <= last <= first <= packet_bytes
    assert sum(part_bytes(size_bytes, packets, i) for i in range(packets)) == size_bytes if packets < 100 else True


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (Timeline(parts=()), "0 entries"),
        (Timeline(parts=((0.0, 100.0, 1.0),)), "s above 0"),
        (Timeline(parts=((1.0, 100.0, -1.0),)), "an sd from 0"),
        (Encoder(frames_per_s=0.0), "Encoder.frames_per_s is 0"),
        (Encoder(spread=math.nan), "spread is nan"),
        (Encoder(key_factor=0.5), "key_factor is 0.5"),
        (Series(np.array([], np.int64)), r"\(0,\)"),
        (Series(np.array([10, 0])), "0 at 1"),
    ],
)
def test_what_cannot_be_sent_is_refused(which, message):
    with pytest.raises(ValueError, match=message):
        describe_video(which)


def test_sizes_of_measured_frames():
    assert require_sizes([1.0, 2.0]).dtype == np.int64
    with pytest.raises(ValueError, match="10,000,000"):
        require_sizes([10_000_001])
