"""GCC stage by stage against numbers computed independently."""

import math

import numpy as np
import pytest

from vcgym.baselines.rate.gcc.aimd import Aimd, Received, control, deviation_kbps, packet_bits, receive
from vcgym.baselines.rate.gcc.gcc import GccDraft, GccWebrtc
from vcgym.baselines.rate.gcc.grouping import DRAFT, WEBRTC, Groups, add
from vcgym.baselines.rate.gcc.loss import Loss, control_draft, control_webrtc, count
from vcgym.baselines.rate.gcc.overuse import (
    K_DOWN_DRAFT,
    K_DOWN_WEBRTC,
    K_UP_DRAFT,
    K_UP_WEBRTC,
    NORMAL,
    OVERUSE,
    UNDERUSE,
    Detector,
    adapt,
    judge,
)
from vcgym.baselines.rate.gcc.trend import Kalman, Trendline, add_scalar, add_variation
from vcgym.baselines.records import PacketFeedback, RateLimits
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.network.kernels.record import records


def samples_ms(variant, prefilter, sends_ms, arrivals_ms):
    groups = records(Groups, 1)[0]
    found = []
    for sent, arrived in zip(sends_ms, arrivals_ms, strict=True):
        if add(groups, variant, prefilter, sent * 1000, arrived * 1000, arrived * 1000):
            found.append(groups.variation_us / 1000)
    return found


@pytest.mark.parametrize("variant", [WEBRTC, DRAFT])
def test_grouping_with_and_without_the_filter_of_bursts(variant):
    """G1: eight packets, four of them in a burst."""
    sends, arrivals = range(0, 80, 10), [20, 30, 70, 71, 72, 73, 80, 90]
    assert samples_ms(variant, False, sends, arrivals) == [0, 30, -9, -9, -9, -3]
    assert samples_ms(variant, True, sends, arrivals) == [0, 3, -3]


def test_groups_are_what_left_within_5_ms():
    # {0, 5}, {6}, {20}, {40}: complete 15, 16, 31; departed 5, 6, 20.
    assert samples_ms(WEBRTC, False, [0, 5, 6, 20, 40], [10, 15, 16, 31, 52]) == [(16 - 15) - (6 - 5), (31 - 16) - (20 - 6)]


def test_three_groups_out_of_order_begin_anew():
    groups = records(Groups, 1)[0]
    for sent, arrived in ((0, 100), (10, 110)):
        add(groups, WEBRTC, False, sent * 1000, arrived * 1000, 0)
    groups.open.complete_us = 50_000  # completed before the group before
    for n in range(3):
        assert not add(groups, WEBRTC, False, (20 + 10 * n) * 1000, (120 + 10 * n) * 1000, 0)
        assert groups.complete == (0 if n == 2 else 2)


def test_adaptive_threshold():
    """G2: one step of the threshold, in both forms."""

    def after(trend, dt_ms, k_up, k_down):
        detector = records(Detector, 1)[0]
        detector.at_us = 0
        adapt(detector, trend, dt_ms * 1000, k_up, k_down)
        return detector.threshold_ms

    webrtc, draft = (K_UP_WEBRTC, K_DOWN_WEBRTC), (K_UP_DRAFT, K_DOWN_DRAFT)
    assert after(5.0, 100, *webrtc) == 6.0  # 12.5 - 29.25 = -16.75
    assert after(5.0, 100, *draft) == pytest.approx(12.365)
    assert after(5.0, 20, *webrtc) == pytest.approx(6.65)
    assert after(20.0, 20, *webrtc) == pytest.approx(13.805)
    assert after(20.0, 20, *draft) == pytest.approx(14.0)
    assert after(28.0, 20, *webrtc) == after(28.0, 20, *draft) == 12.5


@pytest.mark.parametrize(("variant", "times_us", "threshold_ms"), [
    (WEBRTC, (1_001_000, 1_020_000), 13.73975), (DRAFT, (1_000_600, 1_020_400), 13.79195),
])  # fmt: skip
def test_clock_of_the_threshold(variant, times_us, threshold_ms):
    """Samples at 1000.6 and 1020.4 ms: 19 ms apart in libwebrtc, 19.8 in the draft, both with libwebrtc's gain."""
    groups, detector = records(Groups, 1)[0], records(Detector, 1)[0]
    for sent_us, arrived_us in ((0, 960_000), (10_000, 980_000), (20_000, 1_000_600), (30_000, 1_020_400)):
        if add(groups, variant, False, sent_us, arrived_us, 0):
            adapt(detector, 12.5 if detector.at_us < 0 else 20.0, groups.at_us, K_UP_WEBRTC, K_DOWN_WEBRTC)
            assert groups.at_us in times_us
    assert detector.threshold_ms == pytest.approx(threshold_ms, abs=1e-5)


def test_over_use_is_noticed_on_the_second_group():
    """G3: timer 10, then 30."""
    detector = records(Detector, 1)[0]
    usages, timers = [], []
    for n in range(2):
        usages.append(judge(detector, 20.0, 0.1, 5 + n, 20.0, n * 20_000, K_UP_WEBRTC, K_DOWN_WEBRTC))
        timers.append(detector.timer_ms)
    assert usages == [NORMAL, OVERUSE]
    assert timers == [10.0, 0.0]
    assert judge(detector, -20.0, 0.0, 8, 20.0, 60_000, K_UP_WEBRTC, K_DOWN_WEBRTC) == UNDERUSE
    assert judge(detector, 0.0, 0.0, 9, 20.0, 80_000, K_UP_WEBRTC, K_DOWN_WEBRTC) == NORMAL


def test_a_falling_trend_is_no_over_use():
    detector = records(Detector, 1)[0]
    for n, slope in enumerate((0.3, 0.2, 0.1)):
        assert judge(detector, 20.0, slope, 5 + n, 20.0, n * 20_000, K_UP_WEBRTC, K_DOWN_WEBRTC) == NORMAL


def test_scalar_kalman_filter_is_the_recursion_of_the_draft():
    kalman = records(Kalman, 1)[0]
    m, e, var = 0.0, 0.1, 50.0
    for d in (3.0, -1.0, 40.0, 2.0):
        share = (1 - 0.01) ** (30 * 0.02)
        z = max(min(d - m, 3 * math.sqrt(var)), -3 * math.sqrt(var))
        var = max(1.0, share * var + (1 - share) * z * z)
        gain = (e + 1e-3) / (e + 1e-3 + var)
        m, e = (1 - gain) * m + gain * d, (1 - gain) * (e + 1e-3)
        assert add_scalar(kalman, d, 20.0, 0.01) == pytest.approx(m, rel=1e-12)
    assert kalman.error == pytest.approx(e, rel=1e-12)


def test_trendline():
    """G5: the delay grows by 1 ms per group of 21 ms."""
    trend = records(Trendline, 1)[0]
    found = [(add_variation(trend, 1.0, 1000 + 21 * n), trend.slope) for n in range(60)]
    assert [found[n - 1][1] for n in (20, 30, 60)] == pytest.approx([0.030968, 0.041813, 0.047373], abs=1e-6)
    assert found[18] == (0.0, 0.0)
    assert found[59][0] == pytest.approx(11.3695, abs=1e-4)


def started(target_bps, changed_us=0, form_capacity=None):
    aimd = records(Aimd, 1)[0]
    aimd.target_bps = aimd.received_bps = target_bps
    aimd.changed_us = changed_us
    if form_capacity is not None:
        aimd.capacity_kbps, aimd.variance = form_capacity
    return aimd


def test_changes_of_the_target():
    """G6: decrease, multiplicative and additive increase."""
    assert control(started(1.2e6), WEBRTC, OVERUSE, 1e6, 200_000, 0) == pytest.approx(845_000)
    assert control(started(1.2e6), DRAFT, OVERUSE, 1e6, 200_000, 0) == pytest.approx(850_000)
    for variant in (WEBRTC, DRAFT):
        for dt_us, wanted in ((1_000_000, 324_000), (200_000, 304_654)):
            aimd = started(300e3)
            control(aimd, variant, NORMAL, 300e3, 200_000, 0)
            aimd.target_bps = 300e3
            assert control(aimd, variant, NORMAL, 300e3, 200_000, dt_us) == pytest.approx(wanted, abs=5)
    assert packet_bits(1e6) / (2 * 0.3) == pytest.approx(13_889, abs=1)
    near = started(1e6, 0, (1000.0, 0.4))
    near.state = 1
    assert control(near, WEBRTC, NORMAL, 1e6, 200_000, 1_000_000) == pytest.approx(1_013_889, abs=1)
    near = started(1e6, 0, (1000.0, 100.0))
    near.state = 1
    assert control(near, DRAFT, NORMAL, 1e6, 200_000, 100_000) == pytest.approx(1_001_389, abs=1)


def test_capacity_estimate():
    """G7: what decreases teach about the capacity."""

    def bounds(aimd):
        return [aimd.capacity_kbps + sign * 3 * deviation_kbps(aimd, WEBRTC) for sign in (-1, 1)]

    first = started(2e6, 0, (1000.0, 0.4))
    assert bounds(first) == pytest.approx([940, 1060])
    control(first, WEBRTC, OVERUSE, 950e3, 200_000, 0)
    assert (first.capacity_kbps, first.variance) == (pytest.approx(997.5), pytest.approx(0.4931, abs=1e-4))
    assert bounds(first) == pytest.approx([931.0, 1064.0], abs=0.1)
    second = started(2e6, 0, (1000.0, 0.4))
    control(second, WEBRTC, OVERUSE, 900e3, 200_000, 0)
    assert second.capacity_kbps == 900
    assert bounds(second) == pytest.approx([843.1, 956.9], abs=0.1)
    third = started(2e6, 0, (1000.0, 2.0))
    control(third, WEBRTC, OVERUSE, 500e3, 200_000, 0)
    assert (third.capacity_kbps, third.variance) == (500, pytest.approx(1.9))
    assert bounds(third) == pytest.approx([407.5, 592.5], abs=0.1)


def test_loss_controllers():
    """G8: a fifth lost, and one percent."""

    def after(lost, packets, start_bps, control_loss, *times):
        loss = records(Loss, 1)[0]
        loss.target_bps = start_bps
        for n in range(packets):
            count(loss, n < lost)
        return control_loss(loss, *times)

    assert after(20, 100, 1e6, control_draft) == pytest.approx(0.9e6)
    assert after(20, 100, 1e6, control_webrtc, 0.0, 200_000, 10_000_000) == pytest.approx(900_390, abs=1)
    assert after(1, 100, 300e3, control_webrtc, 0.0, 200_000, 10_000_000) == pytest.approx(325e3)
    assert after(1, 100, 300e3, control_draft) == pytest.approx(315e3)
    assert after(5, 100, 1e6, control_draft) == after(5, 100, 1e6, control_webrtc, 0.0, 200_000, 10_000_000) == 1e6
    assert after(10, 19, 1e6, control_webrtc, 0.0, 200_000, 10_000_000) == 1e6  # too few


def test_growth_starts_from_the_least_target_of_the_last_second():
    loss = records(Loss, 1)[0]
    loss.target_bps = 500e3
    targets = []
    for n in range(30):
        for _ in range(25):
            count(loss, False)
        targets.append(control_webrtc(loss, 0.0, 100_000, n * 100_000))
    shown = [500e3]
    for n in range(30):
        held = [500e3, *targets][max(0, n - 9) : n + 1]
        shown.append(min(held) * 1.08 + 1000)
    assert targets == pytest.approx(shown[1:])


def test_delay_based_target_is_trusted_in_the_first_two_seconds():
    """At once, up to 2 s after the first report, until the first loss; later the target grows by 8 % of the least of the last second."""

    def targets(lost_at_us=None):
        loss, found = records(Loss, 1)[0], []
        loss.target_bps = 300e3
        for now_us in range(5_000_000, 7_400_000, 400_000):
            for n in range(30):
                count(loss, now_us == lost_at_us and n == 0)
            found.append(control_webrtc(loss, 900e3 + now_us / 100.0, 100_000, now_us))
        return found

    assert targets() == pytest.approx([950e3, 954e3, 958e3, 962e3, 966e3, 962e3 * 1.08 + 1000])
    assert targets(5_800_000)[:3] == pytest.approx([950e3, 954e3, 954e3])  # a thirtieth lost: hold


def test_received_rate_of_a_steady_stream():
    received = records(Received, 1)[0]
    for n in range(400):
        receive(received, 10 * n, 1250)
        if 10 * n < 500:
            assert received.estimate_kbps == -1.0
    assert received.estimate_kbps == pytest.approx(1000.0, rel=0.02)


@pytest.mark.parametrize("params", [GccWebrtc(), GccWebrtc(prefilter=False), GccDraft(), GccDraft(prefilter=True)])
def test_whole_pipeline_follows_a_fluid_bottleneck(params):
    """A queue of 1 Mbit/s without a limit: the target ends below, and the queue does not stand."""
    state = allocate(params, 1, 1)
    init(params, state, 0, RateLimits(300e3, 50e3, 3e6), np.uint64(1))
    target, free_us, packet, now_us, fates, delays, targets = 300e3, 0, 0, 0, [], [], []
    next_report_us = 50_000
    while now_us < 60_000_000:
        now_us += round(1200 * 8e6 / target)
        free_us = max(free_us, now_us) + 9600
        fates.append((packet, now_us, free_us + 20_000))
        delays.append(free_us - now_us)
        packet += 1
        while next_report_us <= now_us:
            known_us = next_report_us + 20_000
            for number, sent_us, arrived_us in [fate for fate in fates if fate[2] <= next_report_us]:
                update(params, state, 0, PacketFeedback(number, 1200, sent_us, arrived_us, known_us))
            fates = [fate for fate in fates if fate[2] > next_report_us]
            target = decide(params, state, 0, known_us)
            targets.append(target)
            next_report_us += 50_000
    settled = targets[len(targets) // 2 :]
    assert 0.6e6 < np.mean(settled) < 1.05e6
    assert np.median(delays[len(delays) // 2 :]) < 150_000
