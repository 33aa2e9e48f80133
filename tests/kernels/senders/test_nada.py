"""NADA stage by stage against the numbers of RFC 8698, and whole against a plain twin."""

import numpy as np
import pytest
from sending import play

from twins.nada import PlainNada
from twins.reports import drawn_reports
from vcgym.baselines.rate.nada.nada import Nada, accelerated, aggregate, gamma, gradual, is_recent, warp
from vcgym.baselines.rate.nada.packet_log import (
    Log,
    add_packet,
    longest_queue_us,
    lost,
    mean_loss_interval,
    queuing_us,
    received_bps,
    round_trip_us,
    span,
)
from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback, RateLimits, SenderStatus
from vcgym.baselines.rule import allocate, decide, init, pacing, reads_marks, report_every_us, see_sender, update
from vcgym.network.bottleneck.capacity.capacity import steps
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.record import records

RFC = Nada()
XMAX = RFC._replace(max_signal_ms=500.0)  # as ns3-rmcat


def test_gradual_update():
    """N1: an offset term of 1,000 and a difference term of 10,000 bit/s."""
    assert gradual(RFC, 1e6, 1.5e6, 20.0, 15.0, 100.0) == pytest.approx(989_000)
    assert gradual(RFC, 1e6, 1.5e6, 20.0, 20.0, 100.0) == pytest.approx(999_000)


def test_fixed_point():
    """N2: a rate rests where x is XREF RMAX / r."""
    assert gradual(RFC, 1e6, 1.5e6, 15.0, 15.0, 100.0) == pytest.approx(1e6)
    assert gradual(RFC, 500e3, 1.5e6, 10.0, 10.0, 100.0) == pytest.approx(502_000)


def test_ramp_up():
    """N3: gamma by the round trip; GAMMA_MAX does not bind with the values of the RFC."""
    assert [gamma(RFC, rtt_ms) for rtt_ms in (0.0, 20.0, 100.0, 300.0)] == pytest.approx([0.22727, 0.20833, 0.15625, 0.09615], abs=1e-5)
    assert gamma(RFC._replace(max_ramp_up=0.1), 0.0) == 0.1
    assert accelerated(RFC, 300e3, 400e3, 20.0) == pytest.approx(483_333, abs=1)
    assert accelerated(RFC, 600e3, 400e3, 20.0) == 600e3


def test_warping():
    """N4: the delay that counts while a loss is recent."""
    found = [warp(RFC, delay_ms) for delay_ms in (49.0, 50.0, 100.0, 150.0, 200.0, 300.0)]
    assert found == pytest.approx([49.0, 50.0, 30.327, 18.394, 11.157, 4.104], abs=1e-3)
    assert is_recent(RFC, 69.0, 10.0)
    assert not is_recent(RFC, 70.0, 10.0)
    assert not is_recent(RFC, 5.0, 0.0)  # none was ever seen


def test_penalties():
    """N5: ms for the share lost, and a fifth of it for the share marked."""
    assert [aggregate(RFC, 0.0, p, 0.0) for p in (0.005, 0.01, 0.02, 0.1)] == pytest.approx([2.5, 10.0, 40.0, 1000.0])
    assert aggregate(RFC, 30.0, 0.01, 0.02) == pytest.approx(30.0 + 10.0 + 8.0)


def test_signal_has_no_limit_in_the_rfc_and_one_in_the_authors_program():
    """N5 and XMAX: 10 % of loss alone are 1,000 ms as printed, and 500 ms as the authors run it."""
    assert aggregate(RFC, 30.0, 0.3, 0.5) == pytest.approx(30.0 + 9000.0 + 5000.0)
    assert [aggregate(XMAX, 0.0, p, 0.0) for p in (0.02, 0.07, 0.1, 0.3)] == pytest.approx([40.0, 490.0, 500.0, 500.0])
    assert aggregate(XMAX, 30.0, 0.3, 0.5) == 500.0


def test_limit_decides_what_follows_a_heavy_loss():
    """30 % of loss wear off by ALPHA: as printed, x falls by more than its own effect and the rate rises to RMAX, as the sheet says."""
    rates = {}
    for params in (RFC, XMAX):
        r, before_ms, rates[params] = 150e3, aggregate(params, 0.0, 0.3, 0.0), []
        for n in range(1, 5):
            x_ms = aggregate(params, 0.0, 0.3 * (1.0 - params.smoothing) ** n, 0.0)
            r, before_ms = min(max(gradual(params, r, 3e6, x_ms, before_ms, 100.0), 150e3), 3e6), x_ms
            rates[params].append(r / 1000.0)
    assert rates[RFC] == pytest.approx([450.3, 1171.9, 2686.5, 3000.0], abs=0.1)
    assert rates[XMAX] == [150.0] * 4


@pytest.mark.long  # compiles two loops that no other quick test needs
def test_flow_as_printed_loses_packets_where_the_authors_does_not():
    """The link falls from 2.5 to 0.6 Mbit/s, 5.1-100 of RFC 8867 from 40 to 80 s on."""
    trace, lost = steps("falls", [(0.0, 2.5), (20.0, 0.6)], 60.0), {}
    link = SharedLink(
        "falls", 0, trace, queue_packets=8192, queue_bytes=22_500, forward_ms=100.0, backward_ms=100.0, seconds=40.0,
        rates_kbps=(300.0, 150.0, 3000.0),
    )  # fmt: skip
    for params in (RFC, XMAX):
        log = play(link, params, pacing=1.0).log(0)
        late = log["created_us"] > 25_000_000
        lost[params] = np.mean(log["arrived_us"][late] < 0)
    assert lost[RFC] > 0.1
    assert lost[XMAX] < 0.02


@pytest.mark.parametrize(("priorities", "ratio"), [((1.0, 1.0), 1.0), ((2.0, 1.0), 2.0)])
def test_flows_that_see_one_signal_share_by_priority(priorities, ratio):
    """N6: equal rates from unequal ones; twice the rate for twice the priority."""
    rates, queue_ms, before_ms = [200e3, 1.2e6], 20.0, 20.0
    for _ in range(6000):
        params = [RFC._replace(priority=priority) for priority in priorities]
        rates = [gradual(p, r, 1.5e6, queue_ms, before_ms, 100.0) for p, r in zip(params, rates, strict=True)]
        before_ms, queue_ms = queue_ms, max(queue_ms + 100.0 * (sum(rates) / 1e6 - 1.0), 0.0)
    assert sum(rates) == pytest.approx(1e6, rel=1e-3)
    assert rates[0] / rates[1] == pytest.approx(ratio, rel=1e-2)


def filled(packets):
    """A log of packets (number, bytes, sent ms, arrived ms), told of at 100 ms after sending."""
    log = records(Log, 1)[0]
    for packet, size, sent_ms, arrived_ms in packets:
        add_packet(log, 500_000, PacketFeedback(packet, size, sent_ms * 1000, arrived_ms * 1000, (sent_ms + 100) * 1000))
    return log


def test_estimates_of_a_log():
    """Ten packets 20 ms apart with two missing; the queue grows by 2 ms from one to the next."""
    log = filled([(n, 1000, 20 * n, 20 * n + 25 + 2 * n) for n in range(12) if n not in (4, 5)])
    assert (lost(log), span(log)) == (2, 12)
    assert (queuing_us(log), longest_queue_us(log), round_trip_us(log)) == (0, 22_000, 100_000)
    assert received_bps(log) == pytest.approx(9 * 8000 / (11 * 0.022))
    assert mean_loss_interval(log) == pytest.approx(6.0)  # closed 4, open 6
    late = filled([(n, 1000, 20 * n, 20 * n + 25 + 2 * n) for n in range(30)])
    assert late.after - late.first == 25  # sent within 500 ms
    assert queuing_us(late) == 30_000  # the newest 15
    anew = filled([(0, 1000, 0, 25), (1, 1000, 20, 40), (2, 1000, 521, 600)])
    assert (anew.base_us, anew.after - anew.first, anew.closed) == (79_000, 1, 0)


@pytest.mark.parametrize(
    "params",
    [
        RFC, XMAX, RFC._replace(encoder_yields=0.0, sending_rises=0.0, priority=2.0),
        RFC._replace(log_ms=200.0, loss_memory=2.0, no_queue_ms=0.0),
    ],
    ids=["rfc", "xmax", "unshaped", "short"],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_whole_equals_its_twin(params, seed):
    state, twin = allocate(params, 1, 1), PlainNada(params, 300e3, 150e3, 4e6)
    init(params, state, 0, RateLimits(300e3, 150e3, 4e6), np.uint64(1))
    found, wanted = [], []
    for packets, news, known_us in drawn_reports(seed):
        for record in packets:
            update(params, state, 0, record)
        see_sender(params, state, 0, news)
        found.append((decide(params, state, 0, known_us), pacing(params, state, 0, 2.0)))
        rate_bps, pace = twin.report(packets, news)
        wanted.append((int(rate_bps), 2.0 * pace))
    assert len({rate for rate, _ in wanted}) > 50
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1.0)


def test_is_asked_without_a_report_and_keeps_its_rate():
    state = allocate(RFC, 1, 1)
    init(RFC, state, 0, RateLimits(300e3, 150e3, 4e6), np.uint64(1))
    assert decide(RFC, state, 0, 50_000) == 300_000
    update(RFC, state, 0, PacketFeedback(0, 1000, 0, NOT_ARRIVED, 100_000))
    assert decide(RFC, state, 0, 100_000) == 300_000  # nothing arrived, nothing is known
    see_sender(RFC, state, 0, SenderStatus(1000, 0, 0, 0, 0, 0))
    assert decide(RFC, state, 0, 100_000) == 300_000 - 0.05 * 300_000
    assert report_every_us(RFC, state, 0, 50_000) == 100_000
    assert reads_marks(RFC, state, 0)
