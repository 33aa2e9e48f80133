"""SCReAM, version 1, stage by stage against RFC 8298."""

import numpy as np
import pytest

from vcgym.baselines.rate.scream.media_rate import LOSS, MARK, NOTHING, MediaRate, adjust, note_event
from vcgym.baselines.rate.scream.report import Target, adjust_target
from vcgym.baselines.rate.scream.scream_v1 import Cwnd, ScreamV1, Trend, follow, grow, note_in_flight, react, resume
from vcgym.baselines.records import SenderStatus
from vcgym.network.kernels.record import records

V1 = ScreamV1()


def window_v1(cwnd_bytes, fast=0, in_flight_bytes=100_000):
    cwnd = records(Cwnd, 1)[0]
    cwnd.bytes, cwnd.fast = cwnd_bytes, fast
    note_in_flight(cwnd, in_flight_bytes, 0)
    return cwnd


def test_congestion_window():
    """C1: version 1 grows by 100 bytes at half its target of delay; a loss leaves 8,000 of 10,000 bytes."""
    cwnd = window_v1(10_000.0)
    grow(V1, cwnd, 2000, 9000, 50_000, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(10_100)
    grow(V1, cwnd, 2000, 5000, 50_000, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(10_100)  # not used enough
    grow(V1, cwnd, 2000, 5000, 150_000, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(10_100 - 0.5 * 2000 * 1000 / 10_100)
    cwnd = window_v1(10_000.0, fast=1)
    assert react(V1, cwnd, 1, 1, 50_000.0, 1_000_000) == LOSS
    assert (cwnd.bytes, cwnd.fast) == (8000.0, 0)
    assert react(V1, cwnd, 1, 0, 50_000.0, 1_049_999) == NOTHING  # once a round trip
    assert react(V1, cwnd, 0, 1, 50_000.0, 1_050_000) == MARK
    assert cwnd.bytes == pytest.approx(7200.0)
    assert react(V1, window_v1(3500.0), 1, 0, 50_000.0, 0) == LOSS


def test_fast_increase():
    cwnd = window_v1(10_000.0, fast=1)
    grow(V1, cwnd, 2000, 6000, 50_000, 100_000.0, 0.1)
    assert (cwnd.bytes, cwnd.fast) == (12_000, 1)
    grow(V1, cwnd, 2000, 6000, 50_000, 100_000.0, 0.1)
    assert cwnd.bytes == 12_000  # 1.5 * 6000 + 2000 is no more than it
    grow(V1, cwnd, 2000, 9000, 200_000, 100_000.0, 0.2)
    assert (cwnd.bytes, cwnd.fast) == (pytest.approx(12_000 - 2000 * 1000 / 12_000), 0)
    for now_us, fast in ((1_000_000, 0), (4_999_999, 0), (5_000_000, 1)):
        resume(V1, cwnd, 0.19, now_us)
        assert cwnd.fast == fast


def test_window_is_bound_by_what_was_under_way_in_the_last_five_seconds():
    cwnd, draws = window_v1(3000.0), np.random.default_rng(3)
    seen = [(0, 100_000)]
    for now_us in np.cumsum(draws.integers(5_000, 100_000, 400)):
        seen.append((now_us, int(draws.integers(1000, 60_000))))
        note_in_flight(cwnd, seen[-1][1], now_us)
        assert cwnd.then_bytes[cwnd.oldest % 512] == max(size for at_us, size in seen if now_us - at_us < 5_000_000)
    cwnd.bytes = 1e9
    grow(V1, cwnd, 1, 1, 1, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(1.1 * cwnd.then_bytes[cwnd.oldest % 512])


def test_trend_of_a_queue_that_builds_up():
    trend, shares, averages = records(Trend, 1)[0], np.linspace(0.05, 1.0, 20), [0.0]
    for n, share in enumerate(shares):
        follow(trend, share, 200_000.0, 50_000 * (n + 1), 0.1)
        follow(trend, 99.0, 200_000.0, 50_000 * (n + 1) + 49_999, 0.1)  # not due
        averages.append(0.9 * averages[-1] + 0.1 * share)
    off = shares - shares.mean()
    assert trend.trend == trend.memory == pytest.approx((off[1:] * off[:-1]).sum() / (off * off).sum() * averages[-1])
    for n in range(20, 60):
        follow(trend, 0.3, 200_000.0, 50_000 * (n + 1), 0.1)
    assert trend.trend == 0.0  # all equal
    assert 0.0 < trend.memory < 1.0


def adjusted(rate_bps, fast=0, last_max_bps=0.0, trend=0.0, memory=0.0, event=NOTHING, waiting=0, frame=0, kbps=(500, 500, 500)):
    """The rate after an adjustment 200 ms after the one before; kbps: sent, acknowledged, captured."""
    media = records(MediaRate, 1)[0]
    media.bps, media.last_max_bps = rate_bps, last_max_bps
    note_event(media, event)
    sent, acked, captured = (25 * rate for rate in kbps)
    adjust(V1, media, fast, trend, memory, SenderStatus(waiting, captured, sent, 0, frame, 0), acked, 50e3, 4e6, 200_000)
    return media.bps


def test_media_rate():
    """RFC 8298 4.1.3, term by term."""
    assert adjusted(500e3, fast=1) == pytest.approx(540e3)  # 200 kbit/s per second
    assert adjusted(300e3, fast=1) == pytest.approx(330e3)  # at most half the rate per second
    assert adjusted(500e3, fast=1, last_max_bps=500e3) == pytest.approx(508e3)  # scale 0.2
    assert adjusted(500e3, kbps=(400, 505, 600)) == pytest.approx(505e3)  # what is acknowledged
    assert adjusted(500e3, kbps=(900, 400, 600)) == pytest.approx(540e3)
    assert adjusted(500e3, trend=0.5) == pytest.approx(475e3)  # 500 (1 - 0.05) - 500
    assert adjusted(500e3, waiting=1000) == pytest.approx(492e3)  # 8,000 bits, 16 ms
    assert adjusted(500e3, waiting=2000) == pytest.approx((500e3 - 16_000) * 0.95)  # 32 ms
    assert adjusted(500e3, waiting=2000, frame=2000) == pytest.approx(500e3)  # the newest frame is no standing queue
    assert adjusted(500e3, waiting=3000, frame=2000) == pytest.approx(492e3)
    assert adjusted(500e3, waiting=1000, frame=2000) == pytest.approx(500e3)  # part of it has left
    assert adjusted(500e3, fast=1, kbps=(200, 200, 200), memory=0.5) == pytest.approx(300e3)
    assert adjusted(500e3, event=LOSS) == adjusted(500e3, event=MARK) == pytest.approx(450e3)
    assert adjusted(60e3, waiting=60_000) == 50e3
    media = records(MediaRate, 1)[0]
    media.bps = 500e3
    adjust(V1, media, 1, 0.0, 0.0, SenderStatus(0, 0, 0, 0, 0, 0), 0, 50e3, 4e6, 199_999)
    assert media.bps == 500e3


def test_target_of_delay_beside_other_flows():
    target = records(Target, 1)[0]
    for _ in range(400):
        adjust_target(target, 250_000, 100.0, 400.0)
    assert target.target_us == pytest.approx(250e3)  # steady: taken over
    target.loss_event_rate = 0.01
    adjust_target(target, 250_000, 100.0, 400.0)
    assert target.target_us == pytest.approx(375e3)
    target.loss_event_rate = 0.0
    for n in range(200):
        adjust_target(target, 300_000 * (n % 2), 100.0, 400.0)
    assert target.target_us == pytest.approx(100e3)  # varies: falls by a tenth at a time
    adjust_target(target, 900_000_000, 100.0, 400.0)
    assert target.target_us <= 400e3
