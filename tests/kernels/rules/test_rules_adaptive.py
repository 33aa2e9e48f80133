"""Adaptive playout, of two paths too, and held after a change of path: twins on plain lists, and properties of each rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinJitter
from twins.session import Inside
from twins.standalone import emissions, levels
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.adaptive_quantile import AdaptiveQuantile
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.held_lag import HeldLag
from vcgym.baselines.playout.path_diversity import PathDiversity
from vcgym.baselines.records import COPY, MEDIA, PROBE, Record

MIXED = MEDIA, MEDIA, MEDIA, PROBE
RULES = [AdaptiveEwma(), AdaptiveEwma(alpha=0.9, deviations=2.0), AdaptiveQuantile(), AdaptiveQuantile(quantile=0.8, window=7)]


def twin_levels(params, sent_us, arrived_us):
    delays_ms = [(arrived - sent) / 1000.0 for sent, arrived in zip(sent_us, arrived_us, strict=True)]
    jitter = TwinJitter()
    excess = [jitter(sent, arrived) for sent, arrived in zip(sent_us, arrived_us, strict=True)]
    result = []
    if isinstance(params, AdaptiveQuantile):
        for i in range(len(sent_us)):
            window = sorted(min(2000, math.ceil(us / 1000)) for us in excess[max(0, i + 1 - params.window) : i + 1])
            result.append(1000 * window[max(1, math.ceil(params.quantile * len(window))) - 1])
        return result
    mean, deviation = delays_ms[0], params.start_lag_ms / params.deviations
    for i, delay in enumerate(delays_ms):
        if i > 0:
            mean = params.alpha * mean + (1.0 - params.alpha) * delay
            deviation = params.alpha * deviation + (1.0 - params.alpha) * abs(mean - delay)
        result.append(max(0, round(1000 * (mean + params.deviations * deviation - (delay - excess[i] / 1000.0)))))
    return result


@st.composite
def arrivals(draw, kinds=(MEDIA,)):
    """Packets of three paths, some three seconds late, with ties and gaps, in order of arrival: kind, path, sent and arrived (us)."""
    spacing = draw(st.sampled_from([10_000, 10_000, 300_000]))
    delays = st.sampled_from([0, 1, 999, 1_000, 9_999, 35_000, 120_000, 500_000, 3_000_000])
    drawn = draw(st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 2), delays), min_size=1, max_size=60))
    packets = [(spacing * k + delay, spacing * k, kind, path) for k, (kind, path, delay) in enumerate(drawn)]
    return [(kind, path, sent, arrived) for arrived, sent, kind, path in sorted(packets)]


@pytest.mark.parametrize("params", RULES)
@given(packets=arrivals())
def test_lags_equal_the_twin(params, packets):
    _, _, sent, arrived = zip(*packets, strict=True)
    # One microsecond: the twin rounds the same real number, found by additions in another order.
    np.testing.assert_allclose(levels(params, sent, arrived), twin_levels(params, sent, arrived), rtol=0, atol=1)


@pytest.mark.parametrize("params", RULES)
def test_clocks_need_not_agree(params):
    rng = np.random.default_rng(5)
    sent = 10_000 * np.arange(300)
    arrived = np.maximum.accumulate(sent + rng.integers(0, 64, sent.size) * 1024)
    shifted = levels(params, sent, arrived + 3_600_000_000)
    np.testing.assert_allclose(shifted, levels(params, sent, arrived), rtol=0, atol=1)


def test_average_by_hand():
    """d: 40, 45, 42.5; v: 20, 12.5, 7.5; least delay 40."""
    params = AdaptiveEwma(alpha=0.5)
    assert levels(params, [0, 10_000, 20_000], [40_000, 60_000, 60_000]).tolist() == [80_000, 55_000, 32_500]


def test_no_packet_goes_before_its_playout_time():
    rng = np.random.default_rng(6)
    sent = 10_000 * np.arange(1000)
    arrived = np.maximum.accumulate(sent + rng.exponential(30_000, sent.size).astype(np.int64)) + np.arange(sent.size)
    result = emissions(AdaptiveEwma(), sent, arrived)
    went = ~result.flushed
    min_us = np.array([np.min((arrived - sent)[max(0, i - 201) : i + 1]) for i in range(sent.size)])
    playout_delay_us = (min_us + result.level_us)[np.searchsorted(arrived, result.emitted_us[went])]  # when each went
    assert ((result.emitted_us - sent)[went] >= playout_delay_us).all()
    assert went.sum() > 900


def cost_ms(streams, at_us, params):
    """C(d) of path diversity, by the definition: r / (w + 1) at the r-th delay, linear between, of the packets that come."""
    product = 1.0
    for stream in streams:
        if stream:
            numbers, delays = [packet for packet, _ in stream], sorted(delay for _, delay in stream)
            wide = 2.0 * float(np.std(delays))
            points = [delays[0] - wide, *delays, delays[-1] + wide]
            r = max((i for i, point in enumerate(points) if point <= at_us), default=None)
            share = 0.0 if r is None else 1.0
            if r is not None and r <= len(delays):
                share = (r + (at_us - points[r]) / (points[r + 1] - points[r])) / (len(delays) + 1)
            product *= 1.0 - share * len(stream) / (max(numbers) - min(numbers) + 1)
    return at_us / 1000.0 + params.ms_per_loss * product


def test_path_diversity_equals_its_twin():
    params, draws = PathDiversity(ms_per_loss=900.0, window=5), np.random.default_rng(1)
    rule, seen = Inside(params, np.zeros((2, 3)), 0), [[], []]
    for packet in range(300):
        stream, delay_us = int(draws.random() < 0.4), int(draws.choice([20_000, 20_500, 31_000, 44_000])) + packet // 50 * 3_000
        kind = (MEDIA, COPY)[stream]
        rule.learn(Record(kind, packet, stream, 10_000 * packet, 10_000 * packet + delay_us, 0, 0, 0))
        seen[stream] = [*seen[stream], (packet, delay_us)][-5:]
        delays = [sorted(delay for _, delay in one) for one in seen]
        candidates = [at for one in delays if one for at in (*one, one[-1] + 2.0 * float(np.std(one)))]
        cheapest_us = min(candidates, key=lambda at: (cost_ms(seen, at, params), at))
        assert rule.decide(0) == pytest.approx(cheapest_us - min(one[0] for one in delays if one), abs=1.001)


def test_a_second_path_that_is_always_in_time_spares_the_delay_of_the_first():
    lags = []
    for second in (False, True):
        rule = Inside(PathDiversity(window=20), np.zeros((2, 3)), 0)
        for packet in range(100):
            sent_us, delay_us = 10_000 * packet, 120_000 if packet % 4 == 0 else 30_000
            rule.learn(Record(MEDIA, packet, 0, sent_us, sent_us + delay_us, 0, 0, 0))
            if second:
                rule.learn(Record(COPY, packet, 1, sent_us, sent_us + 40_000, 0, 0, 0))
        lags.append(rule.decide(0))
    assert lags[0] > 90_000 and lags[1] == 10_000


def decided_us(params, packets):
    """The lag after each of `packets`: kind, path, sent and arrived (us)."""
    rule, found = Inside(params, np.zeros((3, 3)), 0), []
    for number, (kind, path, sent_us, arrived_us) in enumerate(packets):
        rule.learn(Record(kind, number, path, sent_us, arrived_us, arrived_us, 0, 0))
        found.append(rule.decide(arrived_us))
    return found


def twin_held(lags_us, packets, hold_us, margin_us):
    """The held lag from the lags of the rule within."""
    jitter, least_us, last_us, newest, holds, found = TwinJitter(), 0, 0, None, [], []
    for (kind, path, sent_us, arrived_us), lag_us in zip(packets, lags_us, strict=True):
        if kind == MEDIA:
            least_us, last_us = arrived_us - sent_us - jitter(sent_us, arrived_us), arrived_us
            if newest is None or sent_us > newest[1]:
                if newest is not None and path != newest[0] and arrived_us - sent_us < newest[2] - newest[1]:
                    lasting = [held_us for held_us, until_us in holds[-1:] if arrived_us < until_us]
                    holds.append((max([newest[2] - newest[1] + margin_us, *lasting]), arrived_us + hold_us))
                newest = path, sent_us, arrived_us
        lasting = [held_us - least_us for held_us, until_us in holds[-1:] if last_us < until_us]
        found.append(max([lag_us, *lasting]))
    return found


@pytest.mark.parametrize("within", [FixedLag(20.0), AdaptiveEwma(0.9)], ids=lambda rule: type(rule).__name__)
@given(packets=arrivals(MIXED), hold_ms=st.sampled_from([0.0, 30.0, 250.0, 5000.0]), margin_ms=st.sampled_from([0.0, 15.0]))
def test_held_lags_equal_the_twin(within, packets, hold_ms, margin_ms):
    found = decided_us(HeldLag(within, hold_ms, margin_ms), packets)
    assert found == twin_held(decided_us(within, packets), packets, int(1000 * hold_ms), int(1000 * margin_ms))


def test_a_held_lag_waits_for_the_old_path():
    """At 200 ms the path changes from one of 100 ms to one of 40 ms: 40 + 75 ms reach the old path's delay and 15 ms more."""
    sent = [10_000 * k for k in range(60)]
    packets = [(MEDIA, int(k >= 20), us, us + (40_000 if k >= 20 else 100_000)) for k, us in enumerate(sent)]
    packets.sort(key=lambda packet: packet[3])
    lags = decided_us(HeldLag(FixedLag(20.0)), packets)
    held = [lag == 75_000 for lag in lags]
    first = next(i for i, packet in enumerate(packets) if packet[1] == 1)
    assert set(lags) == {20_000, 75_000}
    assert all(held[i] == (i >= first and packet[3] < 240_000 + 250_000) for i, packet in enumerate(packets))
