"""Two bottlenecks and a shared medium against plain queues, packet by packet; priorities."""

from fractions import Fraction

import pytest
from sending import logs_of, play

from twins.plain_calls import PlainQueue
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.sender.reports import REPORT_BYTES
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.flow import Udp
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import Air, Second, SharedLink, traffic_bytes

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

SECONDS, REPORT_US = 8.0, 50_000
GCC = GccWebrtc()


def sent(log, order):
    """Offers of a call's media: time, turn among offers of that time, number and size."""
    return [(int(packet["sent_us"]), order, number, int(packet["size_bytes"])) for number, packet in enumerate(log)]


@pytest.mark.parametrize(("second_kbps", "limit"), [(900, 20_000), (1400, 9_000)])
def test_packets_pass_two_queues_one_after_the_other(second_kbps, limit):
    link = SharedLink(
        "x", 7, constant(1.5e6), queue_bytes=12_000, queue_packets=8192, forward_ms=70.0, seconds=SECONDS,
        rates_kbps=(700.0, 300.0, 2000.0), second=Second(constant(second_kbps * 1e3), limit, 30.0),
    )  # fmt: skip
    others = (OtherCall(SAME, rates_kbps=link.rates_kbps), OtherCall(SAME, rates_kbps=link.rates_kbps, at_second=True, starts_s=0.5))
    through, first, behind = logs_of(play(link._replace(flows=others), GCC))
    queue, arrived, onward = PlainQueue(12_000), {}, []
    for at_us, flow, number, size in sorted([*sent(through, 9), *sent(first, 1)]):
        out_us = queue.carry(at_us, size, Fraction(size * 8_000_000, 1_500_000))
        if flow == 1:
            arrived[flow, number] = -1 if out_us is None else out_us + 25_000
        elif out_us is not None:
            onward.append((out_us + 30_000, 9, number, size))
    queue = PlainQueue(limit)
    for at_us, flow, number, size in sorted([*onward, *sent(behind, 2)]):
        out_us = queue.carry(at_us, size, Fraction(size * 8_000_000, second_kbps * 1000))
        arrived[flow, number] = -1 if out_us is None else out_us + (40_000 if flow == 9 else 25_000)
    for flow, log in ((9, through), (1, first), (2, behind)):
        assert log["arrived_us"].tolist() == [arrived.get((flow, number), -1) for number in range(len(log))]
    dropped = {flow: sum(arrived.get((flow, number), -1) < 0 for number in range(len(log))) for flow, log in ((9, through), (2, behind))}
    assert min(dropped.values()) > 0
    assert len(onward) < len(through)
    assert all(len(log) > 500 for log in (through, first, behind))


def test_stations_take_turns_on_a_medium_with_their_own_rates():
    """Media of three stations, their reports and a constant bit rate: each packet holds the medium for its access and its bits."""
    air, limit, us = Air(10.0, 200.0), 60_000, Fraction(8, 10)  # us of a byte of the medium
    rates = (None, 2.5, 5.0)
    link = SharedLink(
        "x", 7, constant(10e6), queue_bytes=limit, queue_packets=8192, seconds=SECONDS, rates_kbps=(900.0, 600.0, 2500.0), air=air
    )
    others = tuple(OtherCall(SAME, rates_kbps=link.rates_kbps, station_mbps=mbps) for mbps in rates[1:])
    logs = logs_of(play(link._replace(flows=(*others, Udp(1e6, 1000, starts_s=2.0))), GCC))
    orders = (9, 0, 1)  # of the offers of an instant: the flows by their numbers, then the first call
    offers = []
    for log, order, mbps in zip(logs, orders, rates, strict=True):
        factor = 1 if mbps is None else Fraction(10) / Fraction(mbps)
        offers += [(at_us, order, 1, number, round(size * factor) + 250) for at_us, _, number, size in sent(log, order)]
        reports_us = range(REPORT_US, round(SECONDS * 1e6), REPORT_US)
        offers += [(at_us, order, 0, -1, round(REPORT_BYTES * factor) + 250) for at_us in reports_us]
    offers += [(at_us, 2, 0, -1, 1250) for at_us in range(2_000_000, round(SECONDS * 1e6), 8000)]
    queue, arrived = PlainQueue(limit), {}
    for at_us, order, _, number, size in sorted(offers):
        out_us = queue.carry(at_us, size, size * us)
        arrived[order, number] = -1 if out_us is None else out_us + 25_000
    for log, order in zip(logs, orders, strict=True):
        assert log["arrived_us"].tolist() == [arrived[order, number] for number in range(len(log))]
    assert any((log["arrived_us"] < 0).any() for log in logs)
    assert traffic_bytes(air, 1000, acknowledged=False) == 1250
    assert traffic_bytes(air, 1000, acknowledged=True) == 1000 + 250 + 40 + 250


def test_a_call_of_priority_two_sends_twice_the_rate_of_its_rule():
    link = SharedLink("x", 7, constant(2e6), queue_bytes=75_000, queue_packets=8192, seconds=SECONDS, rates_kbps=(900.0, 100.0, 2000.0))
    twice, plain = (play(link._replace(priority=priority), FixedRate(900.0 / priority)).log(0) for priority in (2.0, 1.0))
    assert twice.tolist() == plain.tolist()


def test_a_call_of_priority_two_takes_more():
    link = SharedLink("x", 7, constant(2e6), queue_bytes=75_000, queue_packets=8192, seconds=60.0, rates_kbps=(300.0, 100.0, 2000.0))
    shares = []
    for priority in (1.0, 2.0):
        logs = logs_of(play(link._replace(flows=(OtherCall(SAME, rates_kbps=link.rates_kbps),), priority=priority), GCC))
        heard = [int(log["size_bytes"][(log["arrived_us"] > 20e6)].sum()) for log in logs]
        shares.append(heard[0] / heard[1])
    assert shares[0] == pytest.approx(1.0, abs=0.25)
    assert 1.3 < shares[1] < 2.5
