"""The queue against an independent simulator (SimPy, in fractions), and queueing theory."""

import math
from fractions import Fraction

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from vcgym.network.bottleneck.capacity.capacity import (
    OPPORTUNITY_BYTES,
    CapacityTrace,
    choose_trace,
    constant,
    opportunity_trace,
    pool,
    rate_trace,
)
from vcgym.network.bottleneck.queue import DROPPED, allocate_queue, offer, require_limits, start_link
from vcgym.network.kernels.jit import kernel


@kernel
def offer_each(queue, capacity, s, times_us, sizes_bytes, departs_us):
    """`offer` each packet of a list, times not falling; fill `departs_us`."""
    for i in range(times_us.size):
        departs_us[i] = offer(queue, capacity, s, times_us[i], np.int64(sizes_bytes[i]))


def play(trace: CapacityTrace, times_us, sizes, limit_packets=8192, limit_bytes=None, start_us=0):
    """When each packet has left, by the kernel."""
    queue, capacity = allocate_queue(1), pool([trace], 1)
    choose_trace(capacity, 0, 0, start_us)
    start_link(queue, capacity, 0, *require_limits(limit_packets, limit_bytes))
    departs_us = np.empty(len(times_us), np.int64)
    offer_each(queue, capacity, 0, np.asarray(times_us, np.int64), np.asarray(sizes, np.int64), departs_us)
    return departs_us


class Simulated:
    """The same queue in SimPy: a server that takes the oldest packet and works on it through the trace."""

    AFTER_ALL_ELSE = 2  # priority of an arrival: what leaves in the same microsecond has gone

    def __init__(self, trace, times_us, sizes, limit_packets, limit_bytes):
        self.env, self.trace = simpy.Environment(), trace
        self.limits, self.waiting, self.bytes = (limit_packets, limit_bytes), [], 0
        self.departs_us = [DROPPED] * len(sizes)
        self.idle = None
        for i, at_us in enumerate(times_us):
            arrival = self.env.event()
            arrival._ok, arrival._value = True, i
            arrival.callbacks.append(lambda event: self.arrive(event.value, sizes[event.value]))
            self.env.schedule(arrival, priority=self.AFTER_ALL_ELSE, delay=Fraction(int(at_us)))
        self.env.process(self.serve())
        self.env.run()

    def arrive(self, i, size):
        if len(self.waiting) >= self.limits[0] or self.bytes + size > self.limits[1]:
            return
        self.waiting.append((i, size))
        self.bytes += size
        if self.idle is not None:
            self.idle.succeed()
            self.idle = None

    def serve(self):
        while True:
            if not self.waiting:
                self.idle = self.env.event()
                yield self.idle
            i, size = self.waiting[0]
            work = self.work_at_rates if self.trace.rates_bps[0] else self.work_at_opportunities
            yield from work(size)
            self.departs_us[i] = math.ceil(self.env.now)
            self.waiting.pop(0)
            self.bytes -= size

    def work_at_rates(self, size):
        bits = Fraction(size * 8)
        while bits:
            turn, within = divmod(self.env.now, self.trace.length_us)
            entry = int(np.searchsorted(self.trace.times_us, math.floor(within), "right")) - 1
            ends = self.trace.times_us[entry + 1] if entry + 1 < len(self.trace.times_us) else self.trace.length_us
            rest_us = int(ends) + turn * self.trace.length_us - self.env.now
            took_us = min(rest_us, bits * 1_000_000 / int(self.trace.rates_bps[entry]))
            bits -= took_us * int(self.trace.rates_bps[entry]) / 1_000_000
            yield self.env.timeout(took_us)

    def work_at_opportunities(self, size):
        """Chances are numbered; `self.chance` is the one in use, `self.over` what it has left."""
        chance, over = getattr(self, "chance", -1), getattr(self, "over", 0)
        if chance < 0 or self.time_of(chance) < self.env.now:
            while chance < 0 or self.time_of(chance) < self.env.now:
                chance += 1
            over = OPPORTUNITY_BYTES
        while size > over:
            size, chance, over = size - over, chance + 1, OPPORTUNITY_BYTES
        self.chance, self.over = chance, over - size
        yield self.env.timeout(self.time_of(chance) - self.env.now)

    def time_of(self, chance):
        turn, entry = divmod(chance, len(self.trace.times_us))
        return Fraction(turn * self.trace.length_us + int(self.trace.times_us[entry]))


packets = st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 4000)), min_size=1, max_size=60)
rate_traces = st.lists(st.tuples(st.integers(500, 20_000), st.integers(500_000, 20_000_000)), min_size=1, max_size=5)
chances = st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(lambda gaps: sum(gaps) > 0)


@given(packets, rate_traces, st.integers(1, 12), st.integers(500, 20_000))
@settings(max_examples=100)
def test_equals_simpy_at_changing_rates(gaps, segments, limit_packets, limit_bytes):
    times_us, sizes = np.cumsum([gap for gap, _ in gaps]), [size for _, size in gaps]
    ends_us = np.cumsum([length for length, _ in segments])
    trace = rate_trace("t", np.concatenate([[0], ends_us[:-1]]) / 1e6, [rate for _, rate in segments], ends_us[-1] / 1e6)
    departs_us = play(trace, times_us, sizes, limit_packets, limit_bytes)
    assert departs_us.tolist() == Simulated(trace, times_us, sizes, limit_packets, limit_bytes).departs_us


@given(packets, chances, st.integers(1, 12))
@settings(max_examples=100)
def test_equals_simpy_at_opportunities(gaps, steps_ms, limit_packets):
    times_us, sizes = np.cumsum([gap for gap, _ in gaps]), [size for _, size in gaps]
    trace = opportunity_trace("t", np.cumsum(steps_ms))
    departs_us = play(trace, times_us, sizes, limit_packets)
    assert departs_us.tolist() == Simulated(trace, times_us, sizes, limit_packets, 1 << 40).departs_us


@given(packets, st.integers(0, 10**7))
@settings(max_examples=40)
def test_a_call_may_begin_anywhere_in_its_trace(gaps, start_us):
    times_us, sizes = np.cumsum([gap for gap, _ in gaps]), [size for _, size in gaps]
    trace = rate_trace("t", [0, 0.003, 0.007], [3e6, 4e5, 1e7], 0.01)
    within = start_us % trace.length_us
    departs_us = play(trace, times_us, sizes, start_us=start_us)
    later = play(trace, times_us + within, sizes)
    assert (departs_us == later - within).all()


def poisson(mean_gap_us, n, seed):
    return np.cumsum(np.random.default_rng(seed).exponential(mean_gap_us, n)).astype(np.int64)


N = 2_000_000
SERVICE_US = 1000.0


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_m_d_1(load):
    """Pollaczek-Khinchine: mean stay = service (1 + load / (2 (1 - load)))."""
    times_us = poisson(SERVICE_US / load, N, 1)
    departs_us = play(constant(8e6), times_us, np.full(N, 1000))
    assert (departs_us - times_us).mean() == pytest.approx(SERVICE_US * (1 + load / (2 * (1 - load))), rel=0.01)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.75])
def test_m_m_1(load):
    """Mean stay = service / (1 - load). Sizes are whole bytes, on average 100,000 so that rounding does not show."""
    times_us = poisson(SERVICE_US / load, N, 2)
    sizes = np.maximum(np.random.default_rng(3).exponential(100_000, N), 1).astype(np.int64)
    departs_us = play(constant(8e8), times_us, sizes)
    assert (departs_us - times_us).mean() == pytest.approx(SERVICE_US / (1 - load), rel=0.01)


@pytest.mark.parametrize(("load", "room"), [(0.8, 5), (1.0, 8), (1.5, 4)])
def test_m_m_1_k(load, room):
    """Share blocked = load^K / sum of load^n, n from 0 to K; mean stay of those let in by Little's law."""
    times_us = poisson(SERVICE_US / load, N, 4)
    sizes = np.maximum(np.random.default_rng(5).exponential(100_000, N), 1).astype(np.int64)
    departs_us = play(constant(8e8), times_us, sizes, room)
    weights = load ** np.arange(room + 1)
    blocked = weights[-1] / weights.sum()
    there = (weights * np.arange(room + 1)).sum() / weights.sum()
    entered = departs_us != DROPPED
    assert 1 - entered.mean() == pytest.approx(blocked, rel=0.01)
    stay_us = (departs_us - times_us)[entered].mean()
    assert stay_us == pytest.approx(there * SERVICE_US / (load * (1 - blocked)), rel=0.01)


@pytest.mark.parametrize("limits", [(0, None), (-1, None), (9000, None), (5, 0)])
def test_refuses_a_queue_of_no_length(limits):
    with pytest.raises(ValueError, match="of a queue: allowed is 1 to"):
        require_limits(*limits)
