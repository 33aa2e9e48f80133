"""A queue that marks at a threshold: against a later analysis of its packets, against theory, and in the reports to a sender."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending import play

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rule import Control, Rows, rule
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.network.bottleneck.capacity.capacity import constant, pool
from vcgym.network.bottleneck.queue import DROPPED, allocate_queue, is_marked, offer, require_limits, start_link
from vcgym.network.bottleneck.shared_link import SharedLink, Threshold
from vcgym.network.kernels.jit import kernel

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs


@kernel
def offer_each(queue, capacity, times_us, sizes_bytes, departs_us, marked):
    for i in range(times_us.size):
        marked[i] = is_marked(queue, 0, times_us[i])
        departs_us[i] = offer(queue, capacity, 0, times_us[i], np.int64(sizes_bytes[i]))


def offered(rate_bps, times_us, sizes, mark_us, limit_packets=8192):
    queue, capacity = allocate_queue(1), pool([constant(rate_bps)], 1)
    start_link(queue, capacity, 0, *require_limits(limit_packets))
    queue.link["mark_us"][0] = mark_us
    departs_us, marked = np.empty(len(times_us), np.int64), np.zeros(len(times_us), np.bool_)
    offer_each(queue, capacity, np.asarray(times_us, np.int64), np.asarray(sizes, np.int64), departs_us, marked)
    return departs_us, marked


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 4000)), min_size=1, max_size=60), st.integers(0, 20_000), st.integers(1, 12))
@settings(max_examples=100)
def test_a_packet_is_marked_that_waits_longer_for_those_before_it(gaps, mark_us, limit_packets):
    times_us, sizes = np.cumsum([gap for gap, _ in gaps]), [size for _, size in gaps]
    departs_us, marked = offered(4e6, times_us, sizes, mark_us, limit_packets)
    before_us = -math.inf
    for now_us, out_us, seen in zip(times_us, departs_us, marked, strict=True):
        assert seen == (before_us - now_us > mark_us)
        before_us = before_us if out_us == DROPPED else out_us


@pytest.mark.parametrize(("load", "wait"), [(0.6, 1.0), (0.8, 2.0), (0.8, 0.0)])
def test_m_m_1_marks_as_many_as_wait_longer(load, wait):
    """P(W > t) = load exp(-(1 - load) t / service), and arrivals see time averages."""
    draws, n, service_us = np.random.default_rng(6), 1_000_000, 1000.0
    times_us = np.cumsum(draws.exponential(service_us / load, n)).astype(np.int64)
    sizes = np.maximum(draws.exponential(100_000, n), 1).astype(np.int64)
    _, marked = offered(8e8, times_us, sizes, round(wait * service_us))
    assert marked.mean() == pytest.approx(load * math.exp(-(1 - load) * wait), rel=0.02)


@rule(Control.RATE, marks=Rows(np.int8, 4000))
class MarkCounter(NamedTuple):
    """A fixed rate that keeps the numbers of the packets marked."""

    kbps: float = 1500.0
    capable: bool = True

    def update(self, marks, record):
        marks[record.packet] = record.marked

    def decide(self, marks, now_us):
        return 1000.0 * self.kbps

    def reads_marks(self, marks):
        return self.capable


@pytest.mark.parametrize("capable", [True, False])
def test_a_sender_is_told_of_marks_if_its_packets_are_capable(capable):
    link = SharedLink("x", 1, constant(1.2e6), discipline=Threshold(30.0), seconds=10.0, queue_packets=100)
    batch = play(link, MarkCounter(capable=capable))
    log = batch.log(0)
    marked = batch.rate_state.marks[0, : len(log)] == 1
    if not capable:
        assert not marked.any()
        return
    out_us, before_us = log["arrived_us"] - round(link.forward_ms * 1000), -math.inf
    for packet in range(int(np.searchsorted(log["sent_us"], 9_300_000))):  # later ones may be settled by the end, not by a report
        there = log["arrived_us"][packet] >= 0
        if marked[packet] or there:
            assert marked[packet] == (there and before_us - log["sent_us"][packet] > 30_000)
        before_us = out_us[packet] if there else before_us
    assert 0.2 < marked.mean() < 0.99


def test_marks_change_nothing_else():
    link = SharedLink("x", 1, constant(1.2e6), seconds=5.0, queue_packets=100)
    plain, marking = (play(link._replace(discipline=one), FixedRate(1500.0)).log(0) for one in (None, Threshold(5.0)))
    assert plain.tolist() == marking.tolist()


def test_a_threshold_that_cannot_be_is_refused():
    link = SharedLink("x", 1, constant(1e6), discipline=Threshold(-1.0))
    with pytest.raises(ValueError, match=r"Threshold.delay_ms is -1.0; allowed range is \[0.0"):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace])).start(0, link)
