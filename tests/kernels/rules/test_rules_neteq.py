"""NetEQ's delay manager: numbers computed by hand, and a twin with dictionaries and fractions on adversarial arrivals."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinHistogram
from twins.standalone import emissions, levels
from vcgym.baselines.playout.neteq.histogram import ONE
from vcgym.baselines.playout.neteq.history import WINDOW_MS, Seen
from vcgym.baselines.playout.neteq.neteq import DelayState, NetEQ, packet_arrived
from vcgym.network.kernels.record import records


def started(places=201):
    return records(DelayState, 1)[0], records(Seen, places)


def target_levels(params, timestamps, samples, rate_hz, arrived_us):
    """Target in ms after each packet of an RTP stream."""
    unwrapped = np.unwrap(np.asarray(timestamps, np.int64), period=2**32)
    state, ring, levels_ms = *started(max(1, min(unwrapped.size, WINDOW_MS * rate_hz // 1000 + 1))), []
    for stamp, length, now_us in zip(unwrapped, np.broadcast_to(samples, unwrapped.shape), arrived_us, strict=True):
        packet_arrived(params, state, ring, int(stamp), int(now_us) // 1000, int(length), rate_hz // 1000)
        levels_ms.append(int(state.target_ms))
    return np.array(levels_ms)


class TwinDelayManager:
    """The description read line by line. The history: timestamp -> (arrival in ms, samples, was the newest when it came)."""

    def __init__(self, params, samples_per_ms):
        self.params, self.rate = params, samples_per_ms
        self.history, self.last = {}, None
        factors = params.forget_factor, params.reorder_forget_factor
        self.underrun, self.reorder = (TwinHistogram(factor, params.start_weight) for factor in factors)
        self.interval, self.most, self.base, self.target = None, 0, 80, 80

    def __call__(self, timestamp, samples, arrived_us):
        if self.last is None:
            self.last = timestamp
        difference = (timestamp - self.last) % 2**32
        self.last += difference if difference < 2**31 else difference - 2**32
        now = floor(Fraction(arrived_us, 1000 * self.params.tick_ms)) * self.params.tick_ms
        if self.insert(self.last, samples, now) and len(self.history) >= 2:
            self.update(self.last, samples, now)
        return self.target

    def insert(self, timestamp, samples, now):
        if self.history and timestamp + 2000 * self.rate < max(self.history):
            return False
        at_or_before = [entry for entry in self.history if entry <= timestamp]
        if at_or_before:
            before = max(at_or_before)
            if before + self.history[before][1] >= timestamp + samples:
                return False
            if before == timestamp:
                return True
        newest = not self.history or timestamp > max(self.history)
        self.history[timestamp] = (now, samples, newest)
        self.history = {ts: entry for ts, entry in self.history.items() if ts + 2000 * self.rate >= max(self.history)}
        return True

    def update(self, timestamp, samples, now):
        fast = [(arrived * self.rate - ts, -ts, arrived) for ts, (arrived, _, newest) in self.history.items() if newest]
        _, negative_ts, ref_arrived = min(fast)
        delay = max(0, now - ref_arrived - (timestamp // self.rate - -negative_ts // self.rate))
        reordered, on = timestamp != max(self.history), bool(self.params.reorder_optimizer)
        if not (reordered and on):
            self.update_underrun(delay, now)
        best = 0
        if on:
            self.reorder.add(delay // 20 if reordered else 0)
            weight = 100 * self.params.ms_per_loss_percent
            costs = [max(0, 20 * i - self.base) * 2**30 + weight * (2**30 - sum(self.reorder.p[: i + 1])) for i in range(100)]
            best = 20 * (1 + costs.index(min(costs)))
        target = max(self.base, best, self.params.minimum_delay_ms)
        if self.params.maximum_delay_ms:
            target = min(target, self.params.maximum_delay_ms)
        self.target = min(target, floor(Fraction(3, 4) * self.params.max_packets * (samples // self.rate)))

    def update_underrun(self, delay, now):
        if self.params.resample_interval_ms == 0:
            sample = delay
        else:
            if self.interval is None:
                self.interval = now
            if now - self.interval <= self.params.resample_interval_ms:
                self.most = max(self.most, delay)
                return
            sample, self.most, self.interval = self.most, delay, now
        self.underrun.add(sample // 20)
        self.base = 20 * (1 + self.underrun.quantile(self.params.quantile))


def twin_levels(params, timestamps, samples, rate_hz, arrived_us):
    twin = TwinDelayManager(params, rate_hz // 1000)
    return [twin(*packet) for packet in zip(timestamps, samples, arrived_us, strict=True)]


@st.composite
def streams(draw):
    """Packets of one stream in order of arrival: ties, duplicates, spans inside others, both edges of the window, gaps, the 32-bit wrap."""
    rate_hz = draw(st.sampled_from([8000, 16000, 48000]))
    per_ms = rate_hz // 1000
    steps_ms = st.sampled_from([0, 5, 10, 10, 10, 20, 20, 40, -10, -20, -60, -1990, -2000, -2010, 1999, 2000, 2001, 9_000])
    count = draw(st.integers(1, 60))
    steps = draw(st.lists(st.tuples(steps_ms, st.sampled_from([0, 0, 0, 1, -1])), min_size=count, max_size=count))
    start = draw(st.sampled_from([0, 100_000, 2**32 - 1, 2**32 - 3000 * per_ms]))
    offsets = np.cumsum([ms * per_ms + odd for ms, odd in steps])
    samples = draw(st.lists(st.sampled_from([10, 10, 10, 5, 20, 60]), min_size=count, max_size=count))
    gaps_us = draw(
        st.lists(
            st.sampled_from([0, 0, 1, 999, 5_000, 10_000, 10_000, 20_000, 300_000, 500_000, 510_000, 3_000_000]),
            min_size=count,
            max_size=count,
        )
    )
    stamps = [int((start + offset) % 2**32) for offset in offsets]
    return stamps, [per_ms * ms for ms in samples], rate_hz, np.cumsum(gaps_us).tolist()


VARIANTS = [
    NetEQ(),
    NetEQ(tick_ms=1, resample_interval_ms=0),
    NetEQ(reorder_optimizer=False, minimum_delay_ms=50),
    NetEQ(start_weight=0, resample_interval_ms=20),
    NetEQ(maximum_delay_ms=130, minimum_delay_ms=150, max_packets=9),
]


@pytest.mark.parametrize("params", VARIANTS)
@given(stream=streams())
def test_targets_equal_the_description(params, stream):
    assert target_levels(params, *stream).tolist() == twin_levels(params, *stream)


@pytest.mark.parametrize("params", [VARIANTS[0], *(pytest.param(one, marks=pytest.mark.long) for one in VARIANTS[1:])])
def test_targets_of_a_long_disordered_stream_equal_the_description(params):
    rng = np.random.default_rng(5)
    sent = 10_000 * np.arange(1200)
    arrived = sent + rng.exponential(40_000, sent.size).astype(np.int64) + 600_000 * (rng.random(sent.size) < 0.01)
    order = np.argsort(arrived, kind="stable")
    stamps = (2**32 - 9600 + sent * 16 // 1000) % 2**32
    stream = (stamps[order].tolist(), [160] * sent.size, 16000, arrived[order].tolist())
    result = target_levels(params, *stream)
    assert result.tolist() == twin_levels(params, *stream)
    assert len(set(result.tolist())) >= (2 if params.maximum_delay_ms else 3)


def test_the_rule_equals_the_list_in_samples():
    """Whole-ms timestamps are the same delays in samples and in microseconds."""
    rng = np.random.default_rng(6)
    sent = 10_000 * np.arange(700)
    arrived = sent + rng.exponential(30_000, sent.size).astype(np.int64) + 90_000 * (rng.random(sent.size) < 0.05)
    order = np.argsort(arrived, kind="stable")
    alone = target_levels(NetEQ(), sent[order] * 48 // 1000, 480, 48000, arrived[order])
    assert levels(NetEQ(), sent[order], arrived[order]).tolist() == (1000 * alone).tolist()


def test_target_before_and_after_the_first_interval():
    """P11: delays all zero but for one of 95 ms, with the packets held behind it."""
    sent_ms = 20 * np.arange(70)
    arrived_ms = sent_ms + 40
    held = (sent_ms >= 800) & (sent_ms < 900)
    arrived_ms[held] = np.maximum(arrived_ms[held], 800 + 40 + 95)
    levels_ms = target_levels(NetEQ(tick_ms=1), 48 * sent_ms, 960, 48000, 1000 * arrived_ms)
    at = dict(zip(arrived_ms.tolist(), levels_ms.tolist(), strict=True))
    assert {at[ms] for ms in at if ms < 580} == {80}
    assert {at[ms] for ms in at if 580 <= ms < 1100} == {20}
    assert {at[ms] for ms in at if 1100 <= ms < 1600} == {100}


def test_reorder_optimizer_weighs_waiting_against_loss():
    """P12: nine packets in order, one reordered by 60 to 79 ms."""
    params, (state, ring) = NetEQ(), started()
    state.underrun_ms = 40
    for k in range(10):  # the first one enters no histogram
        packet_arrived(params, state, ring, 20 * k, 20 * k, 20, 1)
    packet_arrived(params, state, ring, 130, 200, 20, 1)
    shares = state.reorder.probability / ONE
    assert shares[3] == pytest.approx(0.2, abs=5e-5)
    costs = [max(0, 20 * i - 40) + 2000 * (1 - shares[: i + 1].sum()) for i in range(4)]
    assert costs == pytest.approx([400, 400, 400, 20], abs=0.1)
    assert state.target_ms == 80


@pytest.mark.parametrize(("packet_ms", "cap_ms"), [(10, 1500), (20, 3000)])
def test_target_is_at_most_three_quarters_of_the_buffer(packet_ms, cap_ms):
    """P13: 200 packets of 10 ms, and of 20 ms."""
    sent_ms = packet_ms * np.arange(100)
    for minimum_ms, expected in ((9000, cap_ms), (cap_ms - 1, cap_ms - 1)):
        params = NetEQ(minimum_delay_ms=minimum_ms)
        assert target_levels(params, 16 * sent_ms, 16 * packet_ms, 16000, 1000 * sent_ms)[-1] == expected


def test_limits_wait_for_the_first_update():
    assert target_levels(NetEQ(minimum_delay_ms=500), [0, 160], 160, 16000, [0, 10_000]).tolist() == [80, 500]


def test_late_packets_teach():
    packets = [*range(12), *range(13, 19), 12]
    sent = [10_000 * packet for packet in packets]
    early = emissions(NetEQ(resample_interval_ms=0), sent, [*sent[:-1], sent[-2]])
    assert early.late[-1]
    assert early.level_us[-2:].tolist() == [20_000, 80_000]


def test_packets_closer_than_declared_are_refused():
    sent = 5_000 * np.arange(500)
    with pytest.raises(ValueError, match="at least packet_ms apart"):
        levels(NetEQ(), sent, sent)
    assert levels(NetEQ(packet_ms=5.0), sent, sent)[-1] == 20_000
