"""Reno and CUBIC: windows against their formulas, connections over a bottleneck against theory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.queued import queued
from vcgym.network.bottleneck.capacity.capacity import constant, opportunity_trace
from vcgym.network.bottleneck.cross_traffic import allocate_dumbbell, run_flows, start_flows
from vcgym.network.bottleneck.flow import Tcp, Udp, describe_flow
from vcgym.network.bottleneck.impairments import Outages, pass_outages, start_outages
from vcgym.network.bottleneck.queue import require_limits, start_link
from vcgym.network.bottleneck.tcp_window import (
    BETA,
    CONTROLS,
    CUBIC_LINUX,
    CUBIC_STANDARD,
    RENO,
    C,
    Window,
    cubic_of,
    cut,
    grow,
    start_window,
    time_out,
)
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records


@kernel
def windows_of_list(window, acks_us, lost, rtt_us, cwnd):
    """Acknowledge a segment at each of `acks_us`, or, where `lost`, notice a loss with a full window under way; fill `cwnd`."""
    for i in range(acks_us.size):
        if lost[i]:
            cut(window, math.floor(window.cwnd))
        else:
            grow(window, acks_us[i], rtt_us)
        cwnd[i] = window.cwnd


def fresh_window(control, initial=10.0):
    window = records(Window, 1)[0]
    start_window(window, control, initial)
    return window


class PlainWindow:
    """The slow twin: one acknowledgement or loss at a time, as the texts write it."""

    def __init__(self, control, initial=10.0):
        self.control, self.cwnd, self.ssthresh, self.w_max, self.epoch = control, initial, math.inf, None, None
        self.cwnd_prior = math.inf

    def lose(self):
        if self.control == RENO:
            self.ssthresh = max(math.floor(self.cwnd) / 2, 2)
        else:
            shrinks = self.w_max is not None and self.cwnd < self.w_max
            self.w_max = self.cwnd * (1 + BETA) / 2 if shrinks else self.cwnd
            self.ssthresh, self.epoch, self.cwnd_prior = max(BETA * self.cwnd, 2), None, self.cwnd
        self.cwnd = self.ssthresh

    def acknowledge(self, now_s, rtt_s):
        if self.cwnd < self.ssthresh:
            self.cwnd += 1
        elif self.control == RENO:
            self.cwnd += 1 / self.cwnd
        else:
            self.avoid(now_s, rtt_s)

    def avoid(self, now_s, rtt_s):
        if self.epoch is None:
            self.epoch, self.w_est = now_s, self.cwnd
            self.k, self.origin = 0.0, self.cwnd
            if self.w_max is not None and self.w_max > self.cwnd:
                self.k, self.origin = math.cbrt((self.w_max - self.cwnd) / C), self.w_max
        t = now_s - self.epoch
        step = min(max(C * (t + rtt_s - self.k) ** 3 + self.origin - self.cwnd, 0) / self.cwnd, math.inf)
        a = 3 * (1 - BETA) / (1 + BETA)
        if self.control == CUBIC_STANDARD:
            self.w_est += (1 if self.w_est >= self.cwnd_prior else a) / self.cwnd
            if C * (t - self.k) ** 3 + self.origin < self.w_est and self.w_est > self.cwnd:
                self.cwnd = self.w_est
                return
        else:
            self.w_est += a / self.cwnd
            step = max(step, (self.w_est - self.cwnd) / self.cwnd)
            if self.w_max is None:
                step = max(step, 0.05)
        self.cwnd += min(step, 0.5)


events = st.lists(st.tuples(st.integers(0, 60_000), st.booleans() | st.just(False)), min_size=1, max_size=300)


@given(st.sampled_from([RENO, CUBIC_LINUX, CUBIC_STANDARD]), events, st.integers(1000, 300_000))
def test_windows_equal_their_twin(control, gaps, rtt_us):
    acks_us, lost = np.cumsum([gap for gap, _ in gaps]), np.array([lost for _, lost in gaps])
    found, twin, wanted = np.empty(len(gaps)), PlainWindow(control), []
    windows_of_list(fresh_window(control), acks_us, lost, float(rtt_us), found)
    for at_us, loses in zip(acks_us, lost, strict=True):
        twin.lose() if loses else twin.acknowledge(at_us * 1e-6, rtt_us * 1e-6)
        wanted.append(twin.cwnd)
    assert found == pytest.approx(wanted, rel=1e-9)


def test_cubic_after_a_loss():
    """T1: window of CUBIC after a loss at 100 and at 1000 segments."""
    k_s = ((100 - 70) / C) ** (1 / 3)
    assert k_s == pytest.approx(4.2172, abs=1e-4)
    assert [cubic_of(t, k_s, 100.0) for t in (0, 1, k_s, k_s + 1)] == pytest.approx([70, 86.68, 100, 100.4], abs=0.01)
    window = fresh_window(CUBIC_LINUX, 100.0)
    cut(window, 100.0)
    windows_of_list(window, np.array([0]), np.array([False]), 1.0, np.empty(1))
    assert (window.cwnd, window.k_s) == (pytest.approx(70, abs=1e-3), pytest.approx(4.2172, abs=1e-4))
    window = fresh_window(CUBIC_LINUX, 1000.0)
    cut(window, 1000.0)
    windows_of_list(window, np.array([0]), np.array([False]), 1.0, np.empty(1))
    assert window.k_s == pytest.approx(9.0856, abs=1e-4)


def test_cubic_of_the_standard_grows_as_reno_from_the_window_before_the_loss_on():
    """RFC 9438 4.3: a is 3 (1 - beta) / (1 + beta) below cwnd_prior, which fast convergence leaves above W_max, and 1 from there on."""
    window = fresh_window(CUBIC_STANDARD, 20.0)
    cut(window, 20.0)
    cut(window, 14.0)  # fast convergence: W_max = 14 * 0.85
    assert (window.cwnd, window.w_max) == (pytest.approx(9.8), pytest.approx(11.9))
    gains, rtt_us = [], 1000.0  # so short that W_est leads
    for ack in range(200):
        before = window.w_est if ack else window.cwnd
        cwnd = window.cwnd
        grow(window, ack, rtt_us)
        gains.append(((window.w_est - before) * cwnd, before))
    assert {round(gain, 4) for gain, w_est in gains if w_est < 14.0} == {0.5294}
    assert {round(gain, 4) for gain, w_est in gains if w_est >= 14.0} == {1.0}


def test_timeout_begins_anew():
    window = fresh_window(CUBIC_LINUX, 40.0)
    time_out(window, 40.0)
    assert (window.cwnd, window.ssthresh, window.w_max) == (1.0, 28.0, 0.0)
    window = fresh_window(RENO, 40.0)
    time_out(window, 30.0)
    assert (window.cwnd, window.ssthresh) == (1.0, 15.0)


def dumbbell(flows, trace, limit_packets=50, limit_bytes=None, seed=1, works_ms=0.0):
    bell = allocate_dumbbell([trace], 1, len(flows))
    start_link(bell.queue, bell.capacity, 0, *require_limits(limit_packets, limit_bytes))
    start_outages(bell.outages[0], np.uint64(seed), works_ms, 10.0, 80.0)
    bell.flows.flow[0] = [describe_flow(flow) for flow in flows]
    start_flows(bell, 0, np.uint64(seed))
    return bell


def throughput_mbps(bell, from_s, to_s):
    """Of each TCP flow, as its receiver has it in order."""
    run_flows(bell, 0, round(from_s * 1e6))
    before = bell.flows.flow[0]["connection"]["expected"].copy()
    run_flows(bell, 0, round(to_s * 1e6))
    flow = bell.flows.flow[0]
    return (flow["connection"]["expected"] - before) * flow["size_bytes"] * 8 / (to_s - from_s) / 1e6


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_equal_flows_share(control, seed):
    mbps = throughput_mbps(dumbbell([Tcp(control), Tcp(control)], constant(10e6), 50, seed=seed), 30, 630)
    assert mbps[0] / mbps.sum() == pytest.approx(0.5, abs=0.05)
    assert mbps.sum() > 9.5


def test_utilisation_of_one_reno_flow():
    """T2: three quarters of the link without a buffer, all of it with one of a bandwidth-delay product."""
    # 12 Mbit/s and 100 ms are 100 packets of 1500 bytes; one place is the one in service.
    flow = Tcp("reno", forward_ms=50, backward_ms=50, jitter_ms=0)
    [full] = throughput_mbps(dumbbell([flow], constant(12e6), 101), 60, 660)
    assert full / 12 > 0.99
    [bare] = throughput_mbps(dumbbell([flow], constant(12e6), 1), 60, 660)
    assert bare / 12 < 0.76
    window = []
    bell = dumbbell([flow], constant(12e6), 101)
    for second in range(60, 360):
        run_flows(bell, 0, second * 1_000_000)
        if not bell.flows.flow[0]["connection"]["recovering"][0]:
            window.append(bell.flows.flow[0]["connection"]["window"]["cwnd"][0])
    assert min(window) == pytest.approx(100, abs=6)
    assert max(window) == pytest.approx(201, abs=6)


def test_a_stack_of_flows_is_exact_in_its_sums():
    flows = [Tcp("cubic"), Tcp("reno", loss=0.01), Udp(2e6, on_s=0.3, off_s=0.2), Udp(1e6, poisson=True, loss=0.05)]
    bell = dumbbell(flows, opportunity_trace("t", np.sort(np.random.default_rng(0).integers(0, 5000, 4000))), 30, works_ms=200)
    for until_us in range(100_000, 20_000_000, 700_000):
        run_flows(bell, 0, until_us)
        flow, link = bell.flows.flow[0], bell.queue.link[0]
        assert flow["sent"].sum() == flow["lost"].sum() + flow["dropped"].sum() + link["entered"]
        assert link["dropped"] == flow["dropped"].sum()
        # Within a queue of which nothing has left since the last packet came there may be more than there is at this instant.
        assert queued(bell.queue, 0, until_us) <= link["entered"] - link["left"] <= 30
    assert (flow["lost"][[1, 3]] > 0).all() and (flow["lost"][[0, 2]] == 0).all()


def test_same_seed_same_bytes_however_often_one_looks():
    flows = [Tcp("cubic"), Udp(2e6, on_s=0.3, off_s=0.2)]
    once, often = (dumbbell(flows, constant(8e6), seed=5) for _ in range(2))
    run_flows(once, 0, 30_000_000)
    for until_us in range(0, 30_000_001, 333_333):
        run_flows(often, 0, until_us)
    run_flows(often, 0, 30_000_000)
    assert once.flows.flow.tobytes() == often.flows.flow.tobytes()
    assert once.queue.link.tobytes() == often.queue.link.tobytes()
    other = dumbbell(flows, constant(8e6), seed=6)
    run_flows(other, 0, 30_000_000)
    assert other.flows.flow.tobytes() != once.flows.flow.tobytes()


def test_on_off_traffic_keeps_its_shares():
    bell = dumbbell([Udp(1.2e6, on_s=0.5, off_s=1.5)], constant(1e9), 8000)
    run_flows(bell, 0, 4_000_000_000)
    assert bell.flows.flow[0]["sent"][0] * 12_000 / 4000 == pytest.approx(0.3e6, rel=0.05)


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=200), st.integers(0, 5))
def test_outages_hold_and_never_turn_round(gaps, seed):
    outages = records(Outages, 1)[0]
    start_outages(outages, np.uint64(seed), 50.0, 10.0, 80.0)
    at_us = np.cumsum(gaps)
    out_us = np.array([pass_outages(outages, at) for at in at_us])
    assert (out_us >= at_us).all()
    assert (np.diff(out_us) >= 0).all()
    assert (out_us - at_us).max() <= 80_000 + 500 * len(gaps)


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        (Tcp("bbr"), "control = 'bbr'"),
        (Tcp(size_bytes=0), "Tcp.size_bytes is 0"),
        (Tcp(forward_ms=0, backward_ms=0), "round trip above 0"),
        (Udp(rate_bps=0), "Udp.rate_bps is 0"),
        (Udp(rate_bps=math.nan), "rate_bps is nan"),
        (Udp(loss=1.0), "loss is 1.0"),
        (Udp(starts_s=5, stops_s=4), "stops_s is 4"),
    ],
)
def test_refuses_flows_that_cannot_be(flow, says):
    with pytest.raises(ValueError, match=says):
        describe_flow(flow)


def test_a_lost_segment_is_sent_again_and_all_arrive():
    bell = dumbbell([Tcp("reno", loss=0.02)], constant(5e6))
    run_flows(bell, 0, 60_000_000)
    flow = bell.flows.flow[0][0]
    connection = flow["connection"]
    missing = flow["lost"] + flow["dropped"]
    assert missing > 100
    # Each is sent again, but for those of the last window; a retransmission may be lost too.
    assert missing - 60 <= connection["retransmitted"] <= 1.2 * missing
    assert flow["sent"] - connection["retransmitted"] - connection["expected"] <= 60
