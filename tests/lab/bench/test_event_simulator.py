"""The plain Python simulator of the benchmark equals the compiled queue."""

import pytest

from lab.bench.bottleneck import Flow, PlainLink, simulate
from vcgym.network.bottleneck.capacity.capacity import constant, pool
from vcgym.network.bottleneck.queue import DROPPED, allocate_queue, offer, require_limits, start_link


@pytest.mark.parametrize(("gap_us", "limit"), [(100, 10), (115, 10), (120, 3), (500, 1), (7, 1)])
def test_same_departures_and_drops(gap_us, limit):
    queue, capacity = allocate_queue(1), pool([constant(100_000_000)], 1)
    start_link(queue, capacity, 0, *require_limits(limit))
    ours = [offer(queue, capacity, 0, i * gap_us, 1500) for i in range(500)]
    flow = simulate(PlainLink(100_000_000, limit), Flow(float(gap_us), 1500, 40_000.0), 500)
    departed = [at for at in ours if at != DROPPED]
    assert flow.sent == 500
    assert flow.dropped == ours.count(DROPPED)
    assert flow.departed_us == pytest.approx(departed, abs=1e-6)
