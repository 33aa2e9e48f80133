"""Classic adaptive playout: twins on plain lists, and properties of each rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinJitter
from twins.standalone import emissions, levels
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.adaptive_quantile import AdaptiveQuantile
from vcgym.baselines.playout.path_diversity import PathDiversity
from vcgym.baselines.records import COPY, MEDIA, Record, path_history
from vcgym.baselines.rule import allocate, decide, init, update

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
def arrivals(draw):
    """A stream of packets, some delayed by up to three seconds, with ties and gaps, in order of arrival."""
    spacing = draw(st.sampled_from([10_000, 10_000, 300_000]))
    delays = draw(st.lists(st.sampled_from([0, 1, 999, 1_000, 9_999, 35_000, 120_000, 500_000, 3_000_000]), min_size=1, max_size=60))
    packets = sorted((spacing * k + delay, spacing * k) for k, delay in enumerate(delays))
    return [sent for _, sent in packets], [arrived for arrived, _ in packets]


@pytest.mark.parametrize("params", RULES)
@given(packets=arrivals())
def test_lags_equal_the_twin(params, packets):
    # One microsecond: the twin rounds the same real number, found by additions in another order.
    np.testing.assert_allclose(levels(params, *packets), twin_levels(params, *packets), rtol=0, atol=1)


@pytest.mark.parametrize("params", [AdaptiveEwma(), AdaptiveQuantile(window=50)])
def test_lags_of_a_long_stream_equal_the_twin(params):
    rng = np.random.default_rng(4)
    sent = 10_000 * np.arange(900)
    arrived = sent + rng.exponential(40_000, sent.size).astype(np.int64)
    order = np.argsort(arrived, kind="stable")
    sent, arrived = sent[order], arrived[order]
    np.testing.assert_allclose(levels(params, sent, arrived), twin_levels(params, sent.tolist(), arrived.tolist()), rtol=0, atol=1)


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
    state = allocate(params, 1, 2)
    init(params, state, 0, path_history(np.zeros((2, 3))), np.uint64(0))
    seen = [[], []]
    for packet in range(300):
        stream, delay_us = int(draws.random() < 0.4), int(draws.choice([20_000, 20_500, 31_000, 44_000])) + packet // 50 * 3_000
        kind = (MEDIA, COPY)[stream]
        update(params, state, 0, Record(kind, packet, stream, 10_000 * packet, 10_000 * packet + delay_us, 0, 0, 0))
        seen[stream] = [*seen[stream], (packet, delay_us)][-5:]
        delays = [sorted(delay for _, delay in one) for one in seen]
        candidates = [at for one in delays if one for at in (*one, one[-1] + 2.0 * float(np.std(one)))]
        cheapest_us = min(candidates, key=lambda at: (cost_ms(seen, at, params), at))
        assert decide(params, state, 0, 0) == pytest.approx(cheapest_us - min(one[0] for one in delays if one), abs=1.001)


def test_a_second_path_that_is_always_in_time_spares_the_delay_of_the_first():
    params = PathDiversity(window=20)
    lags = []
    for second in (False, True):
        state = allocate(params, 1, 2)
        init(params, state, 0, path_history(np.zeros((2, 3))), np.uint64(0))
        for packet in range(100):
            sent_us, delay_us = 10_000 * packet, 120_000 if packet % 4 == 0 else 30_000
            update(params, state, 0, Record(MEDIA, packet, 0, sent_us, sent_us + delay_us, 0, 0, 0))
            if second:
                update(params, state, 0, Record(COPY, packet, 1, sent_us, sent_us + 40_000, 0, 0, 0))
        lags.append(decide(params, state, 0, 0))
    assert lags[0] > 90_000 and lags[1] == 10_000
