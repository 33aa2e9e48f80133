"""Receiver rules alone on lists of packets: the published example of ten, and twins of the two mechanisms and of CalculateLag."""

import heapq
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinHistogram, TwinJitter
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
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, Record, path_history
from vcgym.baselines.rule import allocate, buffer_type, decide, init, update
from vcgym.network.playout.receiver import COUNT

ORDER = [0, 2, 1, 3, 6, 4, 5, 8, 7, 9]  # the first five are the paper's, the rest is our completion
SENT_US = [10_000 * packet for packet in ORDER]
ARRIVED_US = [10_000 * k for k in range(10)]


class Watermark:
    """Algorithm 1 with a priority queue; `strict` emits below the watermark only, as the listing prints it."""

    def __init__(self, strict=False):
        self.queue, self.watermark, self.strict = [], -math.inf, strict

    def late(self, sent):
        return sent < self.watermark

    def take(self, sent, i, level):
        heapq.heappush(self.queue, (sent, i))
        self.watermark = max(self.watermark, sent - level)
        out = []
        while self.queue and (self.queue[0][0] < self.watermark or (not self.strict and self.queue[0][0] == self.watermark)):
            out.append(heapq.heappop(self.queue)[1])
        return out


class CountBuffer:
    """The count buffer with a priority queue."""

    def __init__(self, packet_us):
        self.queue, self.last, self.packet_us = [], -math.inf, packet_us

    def late(self, sent):
        return sent < self.last

    def take(self, sent, i, level):
        heapq.heappush(self.queue, (sent, i))
        out = []
        while len(self.queue) >= math.ceil(Fraction(int(level), self.packet_us)) + 1:
            self.last, oldest = heapq.heappop(self.queue)
            out.append(oldest)
        return out


class PublishedCountBuffer(CountBuffer):
    """Lets go before it takes in, and refuses nothing."""

    def late(self, sent):
        return False

    def take(self, sent, i, level):
        out = []
        while len(self.queue) * self.packet_us > level:
            out.append(heapq.heappop(self.queue)[1])
        heapq.heappush(self.queue, (sent, i))
        return out


def twin_emissions(buffer, levels_us, sent_us, arrived_us):
    emitted = [-1] * len(sent_us)
    late = [False] * len(sent_us)
    for i, (sent, arrived) in enumerate(zip(sent_us, arrived_us, strict=True)):
        late[i] = buffer.late(sent)
        if not late[i]:
            for gone in buffer.take(sent, i, levels_us[i]):
                emitted[gone] = arrived
    flushed = [out < 0 and not gone for out, gone in zip(emitted, late, strict=True)]
    return [arrived_us[-1] if left else out for out, left in zip(emitted, flushed, strict=True)], late, flushed


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
    emitted, _, _ = twin_emissions(Watermark(strict=True), [30_000] * 10, SENT_US, ARRIVED_US)
    assert [emitted[ORDER.index(packet)] for packet in range(3)] == [40_000] * 3
    assert np.mean(np.subtract(emitted, ARRIVED_US)) == 26_000
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


@pytest.mark.parametrize(("lag_ms", "wait_us"), [(25.0, 30_000), (30.0, 30_000), (0.0, 0)])
@pytest.mark.parametrize("rule", [FixedLag, CountTarget])
def test_constant_delay_waits_the_level_rounded_up_to_packets(rule, lag_ms, wait_us):
    """P4: lags of 25, 30 and 0 ms wait 30, 30 and 0 ms."""
    sent = 10_000 * np.arange(50)
    result = emissions(rule(lag_ms), sent, sent + 70_000)
    waits = (result.emitted_us - sent - 70_000)[~result.flushed]
    assert waits.size >= 46
    assert set(waits.tolist()) == {wait_us}


def test_out_of_order_lag_weighs_waiting_against_loss():
    """P10: the lag of a packet out of order is 40 ms where the quantile says 30."""
    params = WMJitter()
    state = allocate(params, 1, 1)
    init(params, state, 0, path_history(np.zeros((1, 3))), np.uint64(0))
    lag = state.lag[0]
    lag.window.started, lag.window.last_delay_us = 1, 0
    lag.newest_us, lag.base_us = 50_000, 30_000
    lag.histogram.weight[:] = 0
    for bucket, percent in ((0, 90), (1, 4), (2, 3), (3, 2), (10, 1)):
        lag.histogram.weight[bucket] = percent << 30
    lag.histogram.total, lag.histogram.place, lag.histogram.below = 100 << 30, 2, 94 << 30
    lag.histogram.factor, lag.histogram.gain = 2**15, 0.0  # the sample below weighs nothing
    update(params, state, 0, Record(0, 4, 0, 40_000, 40_000, 40_000, 30_000, 0))
    assert decide(params, state, 0, 0) == 40_000
    assert lag.base_us == 30_000


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


def twin_published(levels_us, sent_us, arrived_us):
    """All comes out in its turn; afterwards what is below something that came out before is taken as lost."""
    emitted, _, flushed = twin_emissions(PublishedCountBuffer(10_000), levels_us, sent_us, arrived_us)
    went = sorted(range(len(sent_us)), key=lambda i: (emitted[i], flushed[i], sent_us[i], i))
    order, newest = [], -math.inf
    for i in went:
        order.append(sent_us[i] < newest)
        newest = max(newest, sent_us[i])
    late = [order[went.index(i)] for i in range(len(sent_us))]
    emitted = [-1 if gone else out for out, gone in zip(emitted, late, strict=True)]
    return emitted, late, [left and not gone for left, gone in zip(flushed, late, strict=True)]


@given(packets=arrivals())
def test_published_buffer_equals_a_priority_queue(packets):
    result = emissions(PublishedBuffer(), *packets)
    assert result.level_us.tolist() == emissions(NetEqTarget(), *packets).level_us.tolist()  # of late packets too, both learn
    emitted, late, flushed = twin_published(result.level_us, *packets)
    assert result.emitted_us.tolist() == emitted
    assert result.late.tolist() == late
    assert result.flushed.tolist() == flushed


def test_published_buffer_waits_a_packet_longer_than_its_target():
    sent = 10_000 * np.arange(60)
    for target_ms, wait_us in ((40.0, 50_000), (45.0, 50_000), (10.0, 20_000)):
        fixed = NetEqTarget(start_target_ms=target_ms, min_target_ms=target_ms, max_target_ms=target_ms)
        result = emissions(PublishedBuffer(fixed), sent, sent + 70_000)
        assert set((result.emitted_us - sent - 70_000)[~result.flushed].tolist()) == {wait_us}


def test_published_buffer_loses_what_comes_out_behind_a_newer_packet_and_not_what_comes_late():
    """Target 20 ms: packet 1 comes after 3 has gone in and goes out before it; packet 2 comes after 3 has gone out."""
    fixed = PublishedBuffer(NetEqTarget(start_target_ms=20.0, min_target_ms=20.0, max_target_ms=20.0))
    packets = [0, 3, 1, 4, 5, 6, 2, 7, 8, 9, 10]
    result = emissions(fixed, [10_000 * packet for packet in packets], [10_000 * k for k in range(len(packets))])
    assert [packets[i] for i in np.flatnonzero(result.late)] == [2]
    assert result.emitted_us[packets.index(1)] == 40_000
    assert result.emitted_us[packets.index(4)] == 60_000


RULES = [FixedLag(30.0), CountTarget(45.0), WMJitter(), WMJitter(update_on_late=True), NetEqTarget()]


@pytest.mark.parametrize("params", RULES)
@given(packets=arrivals())
def test_mechanisms_equal_a_priority_queue(params, packets):
    result = emissions(params, *packets)
    buffer = CountBuffer(10_000) if buffer_type(params) == COUNT else Watermark()
    emitted, late, flushed = twin_emissions(buffer, result.level_us, *packets)
    assert result.emitted_us.tolist() == emitted
    assert result.late.tolist() == late
    assert result.flushed.tolist() == flushed


@pytest.mark.parametrize("params", RULES[2:])
@given(packets=arrivals())
def test_levels_equal_the_listing(params, packets):
    result = emissions(params, *packets)
    teaches_late = isinstance(params, NetEqTarget) or params.update_on_late
    lag, twin = 80_000, TwinLag(params.ms_per_loss_percent)
    for i, (sent, arrived) in enumerate(zip(*packets, strict=True)):
        if teaches_late or not result.late[i]:
            lag = twin(sent, arrived)
        assert result.level_us[i] == lag


RECEIVERS = [WMJitter(), NetEqTarget(), NetEQ(), AdaptiveEwma(), AdaptiveQuantile(), WMJitterReset(), HeldLag(WMJitter())]


@pytest.mark.parametrize(
    ("params", "kind"), [(PathDiversity(), PROBE), *((params, kind) for params in RECEIVERS for kind in (PROBE, COPY, REPAIR))], ids=str
)
def test_receivers_learn_from_packets_of_the_call_alone(params, kind):
    draws, history = np.random.default_rng(3), path_history(np.full((2, 3), 50.0))
    alone, other = allocate(params, 1, 2), allocate(params, 1, 2)
    for state in (alone, other):
        init(params, state, 0, history, np.uint64(0))
    for k in range(80):
        packet = Record(MEDIA, k, k // 40, 10_000 * k, 10_000 * k + int(draws.integers(20_000, 90_000)), 0, 80_000, 0)
        update(params, alone, 0, packet)
        update(params, other, 0, packet)
        update(params, other, 0, packet._replace(kind=kind, path=1 - k // 40, arrived_us=packet.arrived_us + 200_000))
        assert decide(params, other, 0, 10_000 * k) == decide(params, alone, 0, 10_000 * k)


def two_paths(at, slower_us):
    """In order at 50 ms of delay, from packet `at` on by another path, `slower_us` later, where every third packet takes 5 ms more."""
    delays = [50_000 + (slower_us if k >= at else 0) + (5_000 if k % 3 == 0 else 0) for k in range(400)]
    return [Record(MEDIA, k, int(k >= at), 10_000 * k, 10_000 * k + delay, 0, 0, 0) for k, delay in enumerate(delays)]


def lags(params, records):
    state = allocate(params, 2, 2)
    init(params, state, 1, path_history(np.zeros((2, 3))), np.uint64(0))
    result = []
    for record in sorted(records, key=lambda record: record.arrived_us):
        update(params, state, 1, record)
        result.append(int(decide(params, state, 1, 0)))
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


def test_on_one_path_the_window_never_begins_anew():
    records = [record._replace(path=3) for record in two_paths(200, 30_000)]
    assert lags(WMJitterReset(), records) == lags(WMJitter(), records)


def test_target_is_clamped():
    sent = 10_000 * np.arange(30)
    assert levels(NetEqTarget(min_target_ms=35.0), sent, sent)[-1] == 35_000
    assert levels(NetEqTarget(min_target_ms=0.0, max_target_ms=5.0), sent, sent)[-1] == 5_000
