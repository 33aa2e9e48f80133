"""SCReAM, both versions, stage by stage against the numbers of their documents, and whole against plain twins."""

import numpy as np
import pytest

from twins.reports import drawn_reports
from twins.scream import PlainScreamV1, PlainScreamV2
from vcgym.baselines.rate.scream import congestion_window, reference_window
from vcgym.baselines.rate.scream.acks import ACKS, clear_acks, clear_report, close_report, hear
from vcgym.baselines.rate.scream.congestion_window import CWND, LOSS, MARK, NOTHING, clear_window, note_under_way, react, resume
from vcgym.baselines.rate.scream.frame_sizes import FRAMES, clear_frames, see_frame
from vcgym.baselines.rate.scream.media_rate import MEDIA_RATE, adjust, clear_media_rate, note_event
from vcgym.baselines.rate.scream.queuing_target import TARGET, adjust_target, clear_target
from vcgym.baselines.rate.scream.reference_window import WINDOW, average, clear_reference, increment, is_l4s_active, shrink
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2, target_rate_bps
from vcgym.baselines.rate.scream.trend import TREND, clear_trend, follow
from vcgym.baselines.records import PacketFeedback, RateLimits, SenderNews
from vcgym.baselines.rule import allocate, decide, init, pacing, reads_marks, report_every_us, see_sender, update, wake_us, window_bytes

V1, V2 = ScreamV1(), ScreamV2()


def record(dtype):
    return np.zeros(1, dtype).view(np.recarray)[0]


def window_v1(cwnd_bytes, fast=0, under_way_bytes=100_000):
    cwnd = record(CWND)
    clear_window(cwnd, V1)
    cwnd.bytes, cwnd.fast = cwnd_bytes, fast
    note_under_way(cwnd, under_way_bytes, 0)
    return cwnd


def test_congestion_window():
    """C1: version 1 grows by 100 bytes at half its target of delay; a loss leaves 8,000 of 10,000 bytes."""
    cwnd = window_v1(10_000.0)
    congestion_window.grow(V1, cwnd, 2000, 9000, 50_000, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(10_100)
    congestion_window.grow(V1, cwnd, 2000, 5000, 50_000, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(10_100)  # not used enough
    congestion_window.grow(V1, cwnd, 2000, 5000, 150_000, 100_000.0, 0.0)
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
    congestion_window.grow(V1, cwnd, 2000, 6000, 50_000, 100_000.0, 0.1)
    assert (cwnd.bytes, cwnd.fast) == (12_000, 1)
    congestion_window.grow(V1, cwnd, 2000, 6000, 50_000, 100_000.0, 0.1)
    assert cwnd.bytes == 12_000  # 1.5 * 6000 + 2000 is no more than it
    congestion_window.grow(V1, cwnd, 2000, 9000, 200_000, 100_000.0, 0.2)
    assert (cwnd.bytes, cwnd.fast) == (pytest.approx(12_000 - 2000 * 1000 / 12_000), 0)
    for now_us, fast in ((1_000_000, 0), (4_999_999, 0), (5_000_000, 1)):
        resume(V1, cwnd, 0.19, now_us)
        assert cwnd.fast == fast


def test_window_is_bound_by_what_was_under_way_in_the_last_five_seconds():
    cwnd, draws = window_v1(3000.0), np.random.default_rng(3)
    seen = [(0, 100_000)]
    for now_us in np.cumsum(draws.integers(5_000, 100_000, 400)):
        seen.append((now_us, int(draws.integers(1000, 60_000))))
        note_under_way(cwnd, seen[-1][1], now_us)
        assert cwnd.then_bytes[cwnd.oldest % 512] == max(size for at_us, size in seen if now_us - at_us < 5_000_000)
    cwnd.bytes = 1e9
    congestion_window.grow(V1, cwnd, 1, 1, 1, 100_000.0, 0.0)
    assert cwnd.bytes == pytest.approx(1.1 * cwnd.then_bytes[cwnd.oldest % 512])


def test_trend_of_a_queue_that_builds_up():
    trend, shares, averages = record(TREND), np.linspace(0.05, 1.0, 20), [0.0]
    clear_trend(trend)
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


def adjusted(rate_bps, fast=0, last_max_bps=0.0, trend=0.0, memory=0.0, event=NOTHING, waiting=0, kbps=(500, 500, 500)):
    """The rate after an adjustment 200 ms after the one before; kbps: sent, acknowledged, captured."""
    media = record(MEDIA_RATE)
    clear_media_rate(media, rate_bps)
    media.last_max_bps = last_max_bps
    note_event(media, event)
    sent, acked, captured = (25 * rate for rate in kbps)
    adjust(V1, media, fast, trend, memory, SenderNews(waiting, captured, sent, 0, 0, 0), acked, 50e3, 4e6, 200_000)
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
    assert adjusted(500e3, fast=1, kbps=(200, 200, 200), memory=0.5) == pytest.approx(300e3)
    assert adjusted(500e3, event=LOSS) == adjusted(500e3, event=MARK) == pytest.approx(450e3)
    assert adjusted(60e3, waiting=60_000) == 50e3
    media = record(MEDIA_RATE)
    clear_media_rate(media, 500e3)
    adjust(V1, media, 1, 0.0, 0.0, SenderNews(0, 0, 0, 0, 0, 0), 0, 50e3, 4e6, 199_999)
    assert media.bps == 500e3


def test_target_of_delay_beside_other_flows():
    target = record(TARGET)
    clear_target(target, 100.0)
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


def acks_of(qdelay_us=0, rtt_us=50_000.0, new_bytes=1000, marked_bytes=0, lost=0, marked=0, packets=1, before_bytes=0):
    acks = record(ACKS)
    clear_acks(acks)
    acks.queuing_us, acks.rtt_us, acks.new_bytes, acks.new_marked_bytes = qdelay_us, rtt_us, new_bytes, marked_bytes
    acks.new_lost, acks.new_marked, acks.new_packets, acks.before_bytes = lost, marked, packets, before_bytes
    return acks


def window_v2(size, queuing_us=0.0, inflection=1.0, congested_us=0):
    window = record(WINDOW)
    clear_reference(window, 3000.0)
    window.bytes, window.queuing_us, window.inflection_bytes, window.congested_us = size, queuing_us, inflection, congested_us
    return window


def test_rate_and_loss_of_the_reference_window():
    """C2: version 2 asks 2 Mbit/s of 12,500 bytes in 50 ms; a loss leaves 8,750 bytes."""
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 0.9, False) == pytest.approx(2e6)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 1.08, False) == pytest.approx(2e6 / 1.2)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 9.0, False) == pytest.approx(2e6 / 1.5)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 9.0, True) == pytest.approx(2e6)  # L4S marks instead
    assert target_rate_bps(V2, 4000.0, 50_000.0, 0.0, False) == pytest.approx(640e3 * 0.85)
    assert target_rate_bps(V2, 1000.0, 50_000.0, 0.0, False) == pytest.approx(160e3 * 0.2)
    window = window_v2(12_500.0)
    assert shrink(V2, window, acks_of(lost=2), 60_000.0, False, 1_000_000)
    assert (window.bytes, window.inflection_bytes, window.congested_us) == (8750.0, 12_500.0, 1_000_000)
    assert not shrink(V2, window, acks_of(lost=2), 60_000.0, False, 1_024_999)  # VIRTUAL_RTT
    assert shrink(V2, window, acks_of(marked=1), 60_000.0, False, 1_025_000)
    assert (window.bytes, window.inflection_bytes) == (7000.0, 12_500.0)  # the inflection stays for 250 ms


def test_delay_of_the_reference_window():
    """C3: an average of 45 ms of a target of 60 ms is v = 0.5, and three quarters of the window stay."""
    window = window_v2(10_000.0, 45_000.0)
    assert shrink(V2, window, acks_of(qdelay_us=31_000), 60_000.0, False, 1_000_000)
    assert window.bytes == 7500.0
    assert not shrink(V2, window_v2(10_000.0, 45_000.0), acks_of(qdelay_us=30_000), 60_000.0, False, 1_000_000)
    assert not shrink(V2, window_v2(10_000.0, 45_000.0), acks_of(qdelay_us=31_000), 60_000.0, True, 1_000_000)


def test_growth_of_the_reference_window():
    """One segment per round trip, and 2 % of the window 4 s after congestion; slow near the last maximum and in short round trips."""
    acks = acks_of(new_bytes=10_000)
    assert increment(V2, window_v2(10_000.0, congested_us=8_000_000), acks, False, 8_000_000) == pytest.approx(1000.0)
    assert increment(V2, window_v2(10_000.0, congested_us=8_000_000), acks, False, 10_000_000) == pytest.approx(1000.0 * 1.1)
    assert increment(V2, window_v2(10_000.0), acks, False, 4_000_000) == increment(V2, window_v2(10_000.0), acks, False, 9_000_000)
    assert increment(V2, window_v2(10_000.0), acks, False, 4_000_000) == pytest.approx(1200.0)
    assert increment(V2, window_v2(10_000.0, inflection=10_000.0), acks, False, 0) == pytest.approx(100.0)
    assert increment(V2, window_v2(10_000.0, inflection=9000.0), acks, False, 0) == pytest.approx(1000.0 * (4 / 9) ** 2)
    assert increment(V2, window_v2(10_000.0, inflection=10_000.0), acks, True, 0) == pytest.approx(200.0)  # 10 of 50 segments
    assert increment(V2, window_v2(10_000.0), acks_of(new_bytes=10_000, rtt_us=12_500.0), False, 0) == pytest.approx(250.0)
    assert increment(V2, window_v2(10_000.0), acks_of(new_bytes=10_000, marked_bytes=4000), False, 0) == pytest.approx(600.0)
    window = window_v2(10_000.0)
    window.most_bytes = 4900
    for most, at_most, grown in ((4900, False, False), (5000, True, False), (5000, False, True)):
        window.most_bytes = most
        reference_window.grow(V2, window, acks, False, at_most, 0)
        assert (window.bytes > 10_000.0) == grown


def test_averages_of_version_2():
    window = window_v2(10_000.0)
    taken = (50_000, 40_000, 10_000.0), (99_999, 90_000, 10_000.0), (100_000, 20_000, 12_500.0), (200_000, 8_000, 8_000.0)
    for now_us, qdelay_us, wanted in taken:
        average(V2, window, acks_of(qdelay_us=qdelay_us, marked=1, packets=2), now_us)
        assert window.queuing_us == wanted
    assert window.alpha == pytest.approx(0.5 * (1 - (15 / 16) ** 3))


def test_l4s():
    """Two marks per round trip tell that the way marks; the window yields by half the mean share, after a quiet time to what was used."""
    l4s, window = V2._replace(l4s=True), window_v2(50_000.0)
    window.alpha = 0.04
    assert is_l4s_active(l4s, window, 100_000.0, 4e6)  # 2 of 50 packets
    assert not is_l4s_active(l4s, window, 100_000.0, 3.9e6)
    assert not is_l4s_active(V2, window, 100_000.0, 4e6)
    assert shrink(l4s, window, acks_of(marked=1), 60_000.0, True, 5_000_000)
    assert window.bytes == pytest.approx(50_000 * (1 - 0.02 * 0.96))
    window = window_v2(50_000.0)
    window.most_before_bytes = 30_000
    assert shrink(l4s, window, acks_of(marked=1), 60_000.0, True, 5_000_001)
    assert (window.bytes, window.alpha) == (pytest.approx(30_000 * 0.75), 0.25)


def test_size_of_frames():
    frames = record(FRAMES)
    clear_frames(frames)
    for number, size in enumerate((900, 1100, 2000, 1300, 1200), 1):  # 1,000 are the share of 240 kbit/s
        see_frame(frames, SenderNews(0, 0, 0, number, size, 33_333), 240e3)
        see_frame(frames, SenderNews(0, 0, 0, number, 9999, 33_333), 240e3)  # the same frame
    assert (frames.larger, frames.high) == (4, pytest.approx(1.3, rel=1e-4))


def test_queuing_delay_is_above_the_least_of_ten_minutes():
    acks = record(ACKS)
    clear_acks(acks)
    for minute, delay_us in enumerate((30_000, 20_000, *[50_000] * 10, 55_000)):
        at_us = minute * 60_000_000
        hear(acks, PacketFeedback(minute, 1000, at_us, at_us + delay_us, at_us + 100_000))
        close_report(acks, at_us + 100_000)
        clear_report(acks)
        assert acks.queuing_us == delay_us - (30_000 if minute == 0 else 20_000 if minute < 11 else 50_000)
    assert acks.acked_bytes == acks.sent_bytes == 13_000


@pytest.mark.parametrize(("params", "plain"), [
    (V1, PlainScreamV1), (V1._replace(competes=False, mss_bytes=1200.0, resumes_after_s=1.0), PlainScreamV1), (V2, PlainScreamV2),
    (V2._replace(l4s=True), PlainScreamV2), (V2._replace(competes=False, min_window_bytes=500.0), PlainScreamV2),
], ids=["v1", "v1 alone", "v2", "v2 l4s", "v2 alone"])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_whole_equals_its_twin(params, plain, seed):
    state, twin = allocate(params, 1, 1), plain(params, 300e3, 50e3, 4e6)
    init(params, state, 0, RateLimits(300e3, 50e3, 4e6), np.uint64(1))
    found, wanted = [], []
    for packets, news, known_us in drawn_reports(seed):
        for one in packets:
            update(params, state, 0, one)
        see_sender(params, state, 0, news)
        found.append((decide(params, state, 0, known_us), window_bytes(params, state, 0), pacing(params, state, 0, 1.0)))
        rate_bps, window, pace = twin.report(packets, news)
        wanted.append((int(rate_bps), int(window), pace))
    assert len({rate for rate, _, _ in wanted}) > 20
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1.0)


@pytest.mark.parametrize("params", [V1, V2], ids=["v1", "v2"])
def test_a_sender_that_hears_nothing_may_send_again(params):
    """3,000 bytes are under way and no report comes: after 500 ms they no longer count, until the next report."""
    state = allocate(params, 1, 1)
    init(params, state, 0, RateLimits(300e3, 50e3, 4e6), np.uint64(1))
    first = window_bytes(params, state, 0)
    assert first == (4000 if params is V1 else 4500)
    see_sender(params, state, 0, SenderNews(0, 3000, 3000, 0, 0, 0))
    assert wake_us(params, state, 0) == 500_000
    decide(params, state, 0, 500_000)  # it has been sending
    assert (window_bytes(params, state, 0), wake_us(params, state, 0)) == (first, 1_000_000)
    decide(params, state, 0, 1_000_000)
    assert window_bytes(params, state, 0) == first + 3000
    for n in range(3):
        update(params, state, 0, PacketFeedback(n, 1000, 1000 * n, 1_030_000 + n, 1_060_000))
    assert decide(params, state, 0, 1_060_000) >= 50_000
    assert window_bytes(params, state, 0) < first + 3000
    assert wake_us(params, state, 0) == 1_560_000
    assert reads_marks(params, state, 0)


def test_reports_are_as_frequent_as_the_documents_say():
    for params, rates in ((V1, {10e3: 400_000, 300e3: 33_333, 2e6: 20_000}), (V2, {10e3: 33_333, 2e6: 20_000, 4e6: 10_000})):
        for start_bps, every_us in rates.items():
            state = allocate(params, 1, 1)
            init(params, state, 0, RateLimits(start_bps, 1e3, 4e6), np.uint64(1))
            assert report_every_us(params, state, 0, 50_000) == every_us


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (V1._replace(beta_loss=0.0), r"ScreamV1\.beta_loss is 0\.0; allowed range is \[0\.1, 1\.0\]"),
        (V1._replace(target_high_ms=50.0), r"ScreamV1\.target_high_ms is 50\.0; allowed range is \[100\.0, 10000\.0\]"),
        (V2._replace(competes=1), r"ScreamV2\.competes is 1; allowed: True, False"),
        (V2._replace(virtual_rtt_ms=float("inf")), r"ScreamV2\.virtual_rtt_ms is inf"),
        (V2._replace(mss_bytes=0.0), r"ScreamV2\.mss_bytes is 0\.0"),
    ],
)
def test_parameters_out_of_range_are_refused(params, says):
    with pytest.raises(ValueError, match=says):
        allocate(params, 1, 1)
