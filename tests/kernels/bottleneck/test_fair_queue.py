"""CoDel and FQ-CoDel: packet by packet against plain Python, numbers computed by hand from the RFCs, and calls over them."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sending import logs_of
from sending import play as play_call

from twins.fair_queue import Arrival, Limits, simulate
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.envs.call.sender.uplink import UplinkBatch
from vcgym.network.bottleneck.capacity.capacity import constant, pool
from vcgym.network.bottleneck.codel import control_law_us
from vcgym.network.bottleneck.fair_queue import NEVER_US, NOTHING, dequeue, enqueue, link_is_busy
from vcgym.network.bottleneck.flow import Tcp, Udp
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.queue import allocate_queue, offer, require_limits, serve, start_link
from vcgym.network.bottleneck.shared_link import Codel, FqCodel, SharedLink, Threshold, start_discipline
from vcgym.network.kernels.jit import kernel

FLOWS, RATE_BPS = 3, 3_700_000


@kernel
def _let_out_until(queue, capacity, until_us, left_us, marked):
    fair = queue.fair
    while fair.schedule[0].next_us <= until_us:
        place = dequeue(fair, 0, fair.schedule[0].next_us)
        if place != NOTHING:
            packet = fair.packets[0, place]
            left_us[packet.number] = serve(queue.link[0], capacity, 0, packet.entered_us, np.int64(packet.size_bytes))
            marked[packet.number] = packet.marked
            link_is_busy(fair, 0, left_us[packet.number])


@kernel
def _play_each(queue, capacity, arrivals, limits, left_us, marked):
    for i in range(arrivals.shape[0]):
        at_us, flow, size, capable = arrivals[i]
        _let_out_until(queue, capacity, at_us, left_us, marked)
        enqueue(queue.fair, 0, flow, i, size, capable, at_us, limits[0], limits[1])
    _let_out_until(queue, capacity, NEVER_US - 1, left_us, marked)


def play(arrivals, discipline, limits=(2048, 1 << 40), rate_bps=RATE_BPS):
    queue, capacity = allocate_queue(1, FLOWS), pool([constant(rate_bps)], 1)
    start_link(queue, capacity, 0, *require_limits(*limits))
    start_discipline(queue, 0, discipline)
    left_us, marked = np.full(len(arrivals), -1), np.zeros(len(arrivals), np.int64)
    _play_each(queue, capacity, np.array(arrivals, np.int64), limits, left_us, marked)
    return left_us, marked, queue


steps = st.tuples(st.integers(0, 6000), st.integers(0, FLOWS - 1), st.integers(40, 3000), st.booleans())
LONG = [(500, i % 2, 1400, False) for i in range(150)]  # enough for the dropping state to be entered, left and entered again
LONG += [(9000, 0, 300, False) for _ in range(10)] + [(300, i % 3, 1200, i % 3 == 1) for i in range(150)]


@given(
    st.lists(steps, min_size=1, max_size=120), st.booleans(), st.integers(1, 12_000), st.integers(1000, 30_000), st.integers(100, 4000),
    st.integers(1, 60), st.integers(500, 60_000),
)  # fmt: skip
@settings(max_examples=150)
@example(LONG, True, 2000, 10_000, 1514, 100, 1 << 40)
@example(LONG, False, 2000, 10_000, 1514, 2000, 1 << 40)
def test_equals_plain_python_packet_by_packet(gaps, fair, target_us, interval_us, quantum, packets, max_bytes):
    times_us = np.cumsum([gap for gap, *_ in gaps]).tolist()
    arrivals = [Arrival(at_us, *rest) for at_us, (_, *rest) in zip(times_us, gaps, strict=True)]
    law = (target_us / 1000, interval_us / 1000)
    left_us, marked, queue = play(arrivals, FqCodel(*law, quantum) if fair else Codel(*law), (packets, max_bytes))
    left, seen = simulate(arrivals, FLOWS, fair, Limits(target_us, interval_us, quantum, packets, max_bytes), RATE_BPS)
    assert [None if at < 0 else at for at in left_us.tolist()] == left
    assert set(np.flatnonzero(marked).tolist()) == {i for i in seen if left[i] is not None}
    assert queue.fair.schedule["dropped"][0] == left.count(None)
    assert queue.fair.schedule["waiting"][0] == queue.fair.schedule["bytes"][0] == 0


@given(st.lists(steps, min_size=1, max_size=80))
@settings(max_examples=40)
def test_without_drops_one_queue_is_the_drop_tail_queue(gaps):
    times_us = np.cumsum([gap for gap, *_ in gaps])
    arrivals = [(at_us, *rest) for at_us, (_, *rest) in zip(times_us, gaps, strict=True)]
    left_us, _, _ = play(arrivals, Codel(60e3))
    queue, capacity = allocate_queue(1), pool([constant(RATE_BPS)], 1)
    start_link(queue, capacity, 0, *require_limits(2048))
    assert left_us.tolist() == [offer(queue, capacity, 0, at_us, size) for at_us, _, size, _ in arrivals]


def test_drops_are_spaced_by_the_interval_over_the_root_of_their_number():
    """RFC 8289 5.5: from a drop to the next 100, 70.7, 57.7, 50 ms; 12 Mbit/s take 1500 bytes in 1 ms, and 2 come in each."""
    assert [int(control_law_us(0, n, 100_000)) for n in (1, 2, 3, 4, 100)] == [100_000, 70_710, 57_735, 50_000, 10_000]
    arrivals = [(500 * i, 0, 1500, 1) for i in range(1600)]
    left_us, marked, _ = play(arrivals, Codel(), rate_bps=12_000_000)
    taken_us = left_us[marked == 1] - 1000
    # The packet of 4.5 ms, the ninth, is the first to have stayed the target: it comes to the head at 9 ms, but is taken at 10 ms as the
    # eleventh of 0, 1, 2 ... stays 5 ms; an interval later the state is entered.
    expected, due = [], 110_000.0
    for count in range(1, 8):
        expected.append(math.ceil(due / 1000) * 1000)
        due += int(100_000 / math.sqrt(count))
    assert taken_us[:7].tolist() == expected


def test_a_thin_flow_does_not_wait_for_the_queue_of_a_thick_one():
    """RFC 8290 1.2: a flow that builds no queue goes first; it waits for the packet on the link and at most a quantum of each other."""
    thick, thin = [(100 * i, 0, 1500, 0) for i in range(3000)], [(20_000 * i + 7, 1, 200, 0) for i in range(14)]
    arrivals = sorted(thick + thin)
    left_us, _, _ = play(arrivals, FqCodel(), rate_bps=12_000_000)
    stayed_us = np.array([left - at for left, (at, flow, _, _) in zip(left_us, arrivals, strict=True) if flow == 1])
    assert (left_us[[flow == 1 for _, flow, _, _ in arrivals]] > 0).all()
    assert stayed_us.max() <= 2 * 1000 + 200 * 8 / 12 + 1


def test_flows_with_full_queues_have_equal_shares_of_bytes():
    arrivals = sorted([(250 * i, 0, 1500, 0) for i in range(4000)] + [(100 * i, 1, 300, 0) for i in range(10_000)])
    left_us, _, _ = play(arrivals, FqCodel(1e3), (2000, 1 << 40), rate_bps=12_000_000)
    size = np.array([0 if left < 0 or left > 1_000_000 else size for left, (_, _, size, _) in zip(left_us, arrivals, strict=True)])
    of_first = size[[flow == 0 for _, flow, _, _ in arrivals]].sum() / size.sum()
    assert of_first == pytest.approx(0.5, abs=0.01)


def delays_ms(discipline, flows, others=()):
    link = SharedLink("x", 3, constant(2e6), queue_packets=300, discipline=discipline, flows=(*flows, *others), seconds=20.0)
    link = link._replace(rates_kbps=(500.0, 50.0, 500.0))
    batch = play_call(link, FixedRate(500.0))
    logs, p95_ms = logs_of(batch), []
    for log in logs:
        heard = log[log["arrived_us"] >= 0]
        assert len(heard) > 0.8 * len(log)
        stayed_ms = (heard["arrived_us"] - heard["sent_us"]) / 1000
        assert (stayed_ms >= 25).all()
        p95_ms.append(np.percentile(stayed_ms, 95))
        assert (np.diff(heard["arrived_us"]) >= 0).all()
    totals = batch.totals()
    assert (totals.delivered + totals.lost == totals.sent).all()
    assert totals.delivered.sum() == (logs[0]["arrived_us"] >= 0).sum()
    return p95_ms, batch


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_a_call_beside_cubic_and_another_call_keeps_its_delay_under_fq_codel():
    flows, other = (Tcp("cubic"), Udp(200e3)), OtherCall("gcc_webrtc", rates_kbps=(300.0, 50.0, 600.0), starts_s=2.0, stops_s=15.0)
    (tail, _), _ = delays_ms(None, flows, (other,))
    (fair, fair_other), batch = delays_ms(FqCodel(), flows, (other,))
    (one, _), _ = delays_ms(Codel(), flows, (other,))
    assert fair < 60 < 200 < tail
    assert fair_other < 100
    assert 25 < one < tail / 2
    connection = batch.tables.dumbbell.flows.flow["connection"][0, 0]
    assert connection["first_missing"] * 1500 * 8 / 20 > 0.3 * 2e6  # CUBIC has its share
    again, _ = delays_ms(FqCodel(), flows, (other,))
    assert again == [fair, fair_other]


@pytest.mark.parametrize(
    ("discipline", "message"),
    [
        (Codel(0.0), r"Codel.target_ms is 0.0; allowed range is \[0.001"),
        (FqCodel(interval_ms=-1.0), "FqCodel.interval_ms is -1.0"),
        (FqCodel(quantum_bytes=0), "FqCodel.quantum_bytes is 0"),
    ],
)
def test_a_discipline_that_cannot_be_is_refused(discipline, message):
    link = SharedLink("x", 1, constant(1e6), discipline=discipline)
    with pytest.raises(ValueError, match=message):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace])).start(0, link)


def test_a_queue_longer_than_there_is_room_for_is_refused():
    link = SharedLink("x", 1, constant(1e6), discipline=Codel(), queue_packets=4096)
    with pytest.raises(ValueError, match=r"queue_packets = 4096 under Codel.*: allowed is 1 to 2048"):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace])).start(0, link)


def test_paths_follow_a_queue_that_knows_departures():
    batch = UplinkBatch(1, 2, "rate", FixedRate(), Fifo())
    batch.draw(0, "train", 1)
    assert batch.links[0] is not None
    for discipline, fine in ((Threshold(), True), (FqCodel(), False)):
        batch.links[0] = batch.links[0]._replace(discipline=discipline, queue_packets=100)
        if fine:
            batch.start(0, 100, 10_000, 10_000, 0.0)
        else:
            with pytest.raises(ValueError, match=r"discipline = FqCodel.* of .* before paths: allowed are None and Threshold"):
                batch.start(0, 100, 10_000, 10_000, 0.0)
