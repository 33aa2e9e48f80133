"""Rules of the playout alone on lists of packets: the published example of ten, and twins of the queue and of CalculateLag."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinHistogram, TwinJitter
from twins.session import Inside, Receiver
from twins.standalone import emissions, levels
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.adaptive_quantile import AdaptiveQuantile
from vcgym.baselines.playout.bf_published import PublishedBuffer
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.held_lag import HeldLag
from vcgym.baselines.playout.neteq.neteq import NetEQ
from vcgym.baselines.playout.path_diversity import PathDiversity
from vcgym.baselines.playout.wmjitter import Memory, WMJitter
from vcgym.baselines.playout.wmjitter_reset import WMJitterReset
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, Record
from vcgym.baselines.rule import buffer_type

ORDER = [0, 2, 1, 3, 6, 4, 5, 8, 7, 9]  # the first five are the paper's, the rest is our completion
SENT_US = [10_000 * packet for packet in ORDER]
ARRIVED_US = [10_000 * k for k in range(10)]


def twin_emissions(mechanism, levels_us, sent_us, arrived_us):
    """When each packet comes out of the slow twin of the queue, -1 if never, and whether only at the end."""
    queue = Receiver(mechanism)
    for sent, arrived, level in zip(sent_us, arrived_us, levels_us, strict=True):
        queue.level_us = int(level)
        queue.accept(sent // 10_000, arrived)
    flushed = [sent // 10_000 in queue.left() for sent in sent_us]
    return [arrived_us[-1] if left else queue.emitted.get(sent // 10_000, -1) for sent, left in zip(sent_us, flushed, strict=True)], flushed


class TwinLag:
    """CalculateLag from lists."""

    def __init__(self, weight=10, start_us=80_000):
        self.jitter, self.histogram, self.newest, self.weight = TwinJitter(), TwinHistogram(), -math.inf, weight
        self.base = self.lag = start_us

    def __call__(self, sent, arrived):
        in_order, self.newest, is_first = sent > self.newest, max(sent, self.newest), self.jitter.last_us is None
        bucket = self.jitter(sent, arrived) // 10_000
        if not is_first:
            self.learn(bucket)
            if in_order:
                self.base = self.lag = 10_000 * (1 + self.place())
            else:
                beyond, whole = self.beyond()
                costs = [max(0, 10_000 * k - self.base) * whole + self.weight * 100_000 * beyond[k] for k in range(100)]
                self.lag = max(self.base, 10_000 * (1 + costs.index(min(costs))))
        return self.lag

    def learn(self, bucket):
        self.histogram.add(bucket)

    def place(self):
        return self.histogram.quantile(0.95)

    def beyond(self):
        return [2**30 - sum(self.histogram.p[: k + 1]) for k in range(100)], 2**30


class TwinWindowLag(TwinLag):
    """CalculateLag with a plain histogram of the window: samples with the newest sent time at which each was taken."""

    samples, last_place = (), 4

    def learn(self, bucket):
        taken = [*self.samples, (self.newest, bucket)] if bucket < 100 else self.samples
        self.samples = [(at, sample) for at, sample in taken if self.newest - at <= 2_000_000]
        held = [sample for _, sample in self.samples]
        if held:
            self.last_place = next(k for k in range(100) if sum(sample <= k for sample in held) >= 0.95 * len(held))

    def place(self):
        return self.last_place

    def beyond(self):
        return [sum(sample > k for _, sample in self.samples) for k in range(100)], len(self.samples)


def waits_ms(result):
    return [int(out - arrived) // 1000 for _, out, arrived in sorted(zip(ORDER, result.emitted_us, ARRIVED_US, strict=True))]


def test_ten_packets_behind_a_watermark():
    """P1: a lag of 30 ms."""
    result = emissions(FixedLag(30.0), SENT_US, ARRIVED_US)
    assert waits_ms(result) == [30, 20, 30, 10, 20, 10, 50, 10, 20, 0]
    assert result.emitted_us[:5].tolist() == [30_000, 40_000, 40_000, 40_000, 90_000]
    assert [ORDER[i] for i in np.flatnonzero(result.flushed)] == [8, 7, 9]
    assert not result.late.any()


def test_ten_packets_in_a_buffer_of_four():
    """P1: a count buffer of four packets."""
    result = emissions(CountTarget(30.0), SENT_US, ARRIVED_US)
    assert waits_ms(result) == [30, 20, 40, 30, 20, 20, 50, 10, 20, 0]
    assert [ORDER[i] for i in np.flatnonzero(result.flushed)] == [8, 7, 9]
    assert not result.late.any()


def test_emitting_below_the_watermark_only_is_another_system():
    """P2: strict emission waits 26 ms on average, not 20."""
    watermarks_us = np.maximum.accumulate(SENT_US) - 30_000
    passed = [np.flatnonzero(watermarks_us > sent) for sent in SENT_US]
    emitted_us = [ARRIVED_US[first[0] if first.size else -1] for first in passed]
    assert [emitted_us[ORDER.index(packet)] for packet in range(3)] == [40_000] * 3
    assert np.mean(np.subtract(emitted_us, ARRIVED_US)) == 26_000
    assert np.mean(waits_ms(emissions(FixedLag(30.0), SENT_US, ARRIVED_US))) == 20


def test_ten_packets_behind_shorter_lags():
    """P3: lags of 20 and 10 ms; the latter discards packet 4."""
    twenty = emissions(FixedLag(20.0), SENT_US, ARRIVED_US)
    by_packet = [int(twenty.emitted_us[ORDER.index(packet)]) // 1000 for packet in range(8)]
    assert by_packet == [10, 30, 40, 40, 50, 70, 70, 90]
    assert [ORDER[i] for i in np.flatnonzero(twenty.flushed)] == [8, 9]
    assert not twenty.late.any()
    ten = emissions(FixedLag(10.0), SENT_US, ARRIVED_US)
    assert [ORDER[i] for i in np.flatnonzero(ten.late)] == [4]
    assert ten.emitted_us[ORDER.index(4)] == -1


def published(target_ms):
    return PublishedBuffer(NetEqTarget(start_target_ms=target_ms, min_target_ms=target_ms, max_target_ms=target_ms))


@pytest.mark.parametrize(
    ("rule", "wait_us"),
    [(rule(ms), wait_us) for rule in (FixedLag, CountTarget) for ms, wait_us in ((25.0, 30_000), (30.0, 30_000), (0.0, 0))]
    + [(published(40.0), 50_000), (published(45.0), 50_000), (published(10.0), 20_000)],
)
def test_constant_delay_waits_the_level_in_whole_packets(rule, wait_us):
    """P4: lags of 25, 30 and 0 ms wait 30, 30 and 0 ms; the published buffer waits a packet longer, rounded down."""
    sent = 10_000 * np.arange(60)
    result = emissions(rule, sent, sent + 70_000)
    waits = (result.emitted_us - sent - 70_000)[~result.flushed]
    assert waits.size >= 46
    assert set(waits.tolist()) == {wait_us}


@st.composite
def arrivals(draw, most=60):
    """A stream of packets, some delayed by up to half a second, in order of arrival."""
    count = draw(st.integers(1, most))
    delays = draw(st.lists(st.sampled_from([0, 1_000, 9_999, 10_000, 35_000, 120_000, 500_000]), min_size=count, max_size=count))
    packets = sorted((10_000 * k + delay, 10_000 * k) for k, delay in enumerate(delays))
    return [sent for _, sent in packets], [arrived for arrived, _ in packets]


@given(arrivals(most=120), st.sampled_from([10_000, 100_000]))
def test_lag_of_a_window_equals_plain_counting(packets, spacing_us):
    sent, arrived = [spacing_us // 10_000 * value for value in packets[0]], [spacing_us // 10_000 * value for value in packets[1]]
    twin = TwinWindowLag()
    expected = [twin(s, a) for s, a in zip(sent, arrived, strict=True)]
    assert levels(WMJitter(memory=Memory.WINDOW, update_on_late=True), sent, arrived).tolist() == expected


def test_published_buffer_loses_what_comes_out_behind_a_newer_packet_and_not_what_comes_late():
    """Target 20 ms: packet 1 comes after 3 has gone in and goes out before it; packet 2 comes after 3 has gone out."""
    packets = [0, 3, 1, 4, 5, 6, 2, 7, 8, 9, 10]
    result = emissions(published(20.0), [10_000 * packet for packet in packets], [10_000 * k for k in range(len(packets))])
    assert [packets[i] for i in np.flatnonzero(result.late)] == [2]
    assert result.emitted_us[packets.index(1)] == 40_000
    assert result.emitted_us[packets.index(4)] == 60_000


RULES = [FixedLag(30.0), CountTarget(45.0), PublishedBuffer(), WMJitter(), WMJitter(update_on_late=True), NetEqTarget()]


@pytest.mark.parametrize("params", RULES)
@given(packets=arrivals())
def test_emissions_equal_the_twin(params, packets):
    result = emissions(params, *packets)
    assert (result.emitted_us.tolist(), result.flushed.tolist()) == twin_emissions(buffer_type(params), result.level_us, *packets)


@pytest.mark.parametrize("params", RULES[2:])
@given(packets=arrivals())
def test_levels_equal_the_listing(params, packets):
    result = emissions(params, *packets)
    teaches_late = not isinstance(params, WMJitter) or params.update_on_late
    lag, twin = 80_000, TwinLag(10 if isinstance(params, WMJitter) else 20)
    for i, (sent, arrived) in enumerate(zip(*packets, strict=True)):
        if teaches_late or not result.late[i]:
            lag = twin(sent, arrived)
        assert result.level_us[i] == lag


RECEIVERS = [WMJitter(), NetEqTarget(), NetEQ(), AdaptiveEwma(), AdaptiveQuantile(), WMJitterReset(), HeldLag(WMJitter())]


@pytest.mark.parametrize(
    ("params", "kind"), [(PathDiversity(), PROBE), *((params, kind) for params in RECEIVERS for kind in (PROBE, COPY, REPAIR))], ids=str
)
def test_receivers_learn_from_packets_of_the_call_alone(params, kind):
    draws, (alone, other) = np.random.default_rng(3), (Inside(params, np.full((2, 3), 50.0), 0) for _ in range(2))
    for k in range(80):
        packet = Record(MEDIA, k, k // 40, 10_000 * k, 10_000 * k + int(draws.integers(20_000, 90_000)), 0, 80_000, 0)
        alone.learn(packet)
        other.learn(packet)
        other.learn(packet._replace(kind=kind, path=1 - k // 40, arrived_us=packet.arrived_us + 200_000))
        assert other.decide(10_000 * k) == alone.decide(10_000 * k)


def two_paths(at, slower_us):
    """In order at 50 ms of delay, from packet `at` on by another path, `slower_us` later, where every third packet takes 5 ms more."""
    delays = [50_000 + (slower_us if k >= at else 0) + (5_000 if k % 3 == 0 else 0) for k in range(400)]
    return [Record(MEDIA, k, int(k >= at), 10_000 * k, 10_000 * k + delay, 0, 0, 0) for k, delay in enumerate(delays)]


def lags(params, records):
    rule, result = Inside(params, np.zeros((2, 3)), 0), []
    for record in sorted(records, key=lambda record: record.arrived_us):
        rule.learn(record)
        result.append(rule.decide(0))
    return result


@pytest.mark.parametrize("slower_us", [30_000, -30_000])
def test_window_begun_anew_equals_the_listing_begun_anew(slower_us):
    """The twin forgets its differences of delay when the path of the newest packet changes, and nothing else."""
    records = sorted(two_paths(200, slower_us), key=lambda record: record.arrived_us)
    twin, path, newest, expected, lag = TwinLag(10), 0, -1, [], 80_000
    for record in records:
        if record.sent_us > newest:
            newest = record.sent_us
            if record.path != path:
                path, twin.jitter = record.path, TwinJitter()
        lag = twin(record.sent_us, record.arrived_us)
        expected.append(lag)
    assert lags(WMJitterReset(), records) == expected


def test_a_move_to_a_slower_path_does_not_lift_the_lag():
    """The difference of 30 ms between the paths is jitter to WMJitter for two seconds, and none to the other."""
    records = two_paths(200, 30_000)
    assert max(lags(WMJitter(), records)[203:390]) == 40_000
    assert set(lags(WMJitterReset(), records)[20:]) == {10_000}


def test_target_is_clamped():
    sent = 10_000 * np.arange(30)
    assert levels(NetEqTarget(min_target_ms=35.0), sent, sent)[-1] == 35_000
    assert levels(NetEqTarget(min_target_ms=0.0, max_target_ms=5.0), sent, sent)[-1] == 5_000
