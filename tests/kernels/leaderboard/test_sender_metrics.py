"""Metrics of a call over a bottleneck, computed by hand, and the distribution of its delays."""

import numpy as np
import pytest
from scipy import stats

from vcgym.envs.call.sender.batch import SendingTotals
from vcgym.envs.call.sender.state import LOGGED
from vcgym.leaderboard.results.cdf import GRID_MS
from vcgym.leaderboard.results.kinds import RATE
from vcgym.leaderboard.results.sender_metrics import capacity_bps, delay_cdf, metrics, timely_utility
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.bottleneck.capacity.capacity import steps
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.playout.quality import rating

LINK = SharedLink("x", 1, steps("x", [(0.0, 1.0), (5.0, 3.0)], 10.0), seconds=10.0, counts_from_s=4.0, forward_ms=20.0)


def totals(**counts):
    return SendingTotals(**{name: np.array([counts.get(name, [0, 0])], np.int64) for name in SendingTotals._fields})


def packets():
    log = np.zeros(4, LOGGED)
    log["created_us"] = [3_999_999, 4_000_000, 5_000_000, 6_000_000]
    log["sent_us"] = log["created_us"] + [0, 0, 10_000, 30_000]
    log["arrived_us"] = [4_100_000, 4_050_000, 5_250_000, -1]
    log["size_bytes"], log["kind"] = 1000, [VIDEO, AUDIO, VIDEO, VIDEO]
    return log


def test_metrics_by_hand():
    log = packets()
    counts = totals(created=[4, 2], rejected=[1, 0], discarded=[1, 1], sent=[2, 1], delivered=[1, 1], on_time=[0, 1], lost=[1, 0])
    found = metrics(LINK, log, counts, 0, np.full(11, 300e3))
    assert set(found) == set(RATE.metric)
    assert (found["audio_on_time"], found["video_on_time"], found["audio_late"], found["video_late"]) == (0.5, 0.0, 0.0, 0.25)
    assert found["throughput_kbps"] == pytest.approx(16 / 6)
    assert capacity_bps(LINK) == pytest.approx(16e6 / 6)
    assert found["utilisation"] == pytest.approx(1e-3)
    assert (found["delay_p50_ms"], found["transit_p50_ms"]) == (150.0, 145.0)
    assert found["queueing_ms"] == 125.0
    assert found["waiting_ms"] == pytest.approx(40 / 3)
    assert (found["lost"], found["unsent"]) == (pytest.approx(1 / 3), 0.5)
    assert found["r"] == rating(200.0, 0.5)
    rate = 2 * 0.6 * np.log(4 * 0.008 + 1) / 6
    assert found["utility"] == pytest.approx(rate - 0.130 - 10 * (1 - 2 / 6))


def test_the_utility_of_packets_on_time_by_hand():
    """Of the packets that count, one of 8 kbit arrives within 200 ms; of two packets of audio one is on time."""
    counts = totals(created=[2, 2], on_time=[1, 1])
    of_one_s = 0.6 * np.log(4 * 0.008 + 1) / 6
    assert timely_utility(LINK, packets(), counts, 0) == pytest.approx(of_one_s - 10 * 0.5)
    assert timely_utility(LINK._replace(expiry_ms=250.0), packets(), counts, 0) == pytest.approx(2 * of_one_s - 10 * 0.5)


def test_targets_are_compared_with_the_capacity_by_hand():
    """The capacity is 1 Mbit/s, from second 5 on 3 Mbit/s, and 2 Mbit/s are the most that the call may target."""
    link = LINK._replace(rates_kbps=(300.0, 50.0, 2000.0))
    targets = np.array([9e6, 9e6, 9e6, 9e6, 1.5e6, 1e6, 2e6, 2e6, 1e6, 2e6, 9e6])
    found = metrics(link, packets(), totals(), 0, targets)
    assert found["overestimate"] == pytest.approx(0.5 / 6)
    assert found["capacity_error"] == pytest.approx((0.25 + 0.25 + 0.25) / 6)
    later = metrics(link._replace(start_us=5_000_000, seconds=5.0), packets(), totals(), 0, targets)
    assert later["overestimate"] == 0.0 and later["capacity_error"] == pytest.approx(0.25**2)
    scarce = link._replace(trace=steps("x", [(0.0, 0.03)], 10.0), counts_from_s=0.0, seconds=3.0)
    assert metrics(scarce, packets(), totals(), 0, np.full(4, 100e3))["overestimate"] == 1.0  # 50 kbit/s is the least that it may target
    assert np.isnan(metrics(link._replace(flows=(Tcp("cubic"),)), packets(), totals(), 0, targets)["capacity_error"])


def test_delays_count_packets_sent_since_the_call_counts():
    cdf = delay_cdf(LINK, packets())["arrival"]
    assert cdf.packets_sent == 3  # the first packet was captured before
    assert [int(cdf.packets_within[np.searchsorted(GRID_MS, ms)]) for ms in (40.0, 50.0, 240.0, 250.0, 2000.0)] == [0, 1, 1, 2, 2]


def test_interval_is_students():
    draws = np.random.default_rng(0).normal(3.0, 2.0, 30)
    found, expected = interval([draws]), stats.ttest_1samp(draws, 0.0).confidence_interval()
    assert found == pytest.approx((draws.mean(), expected.low, expected.high))
    half = interval([draws, draws + 1.0])
    welch = stats.ttest_ind(draws, -(draws + 1.0), equal_var=False).confidence_interval()
    assert (half.low, half.high) == pytest.approx((welch.low / 2, welch.high / 2))
    assert interval([np.ones(5)]) == (1.0, 1.0, 1.0)
    assert np.isnan(interval([np.ones(1)]).low)
