"""A link shared by equal calls: bounds of its closed form, packets in a real queue, and worlds that differ by nothing else."""

import numpy as np
import pytest

from vcgym.network.bottleneck.capacity.capacity import choose_trace, constant, pool
from vcgym.network.bottleneck.queue import MAX_QUEUED, allocate_queue, offer, start_link
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.playout.packet_size import PLAIN, earlier_bytes
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.shared_link import CALLS, QUEUE_US, SharedLinkWorld, crossing
from vcgym.network.worlds.world import DrawnWorld

PLAIN_BPS = 8e6 * PLAIN / SLOT_US  # of one call


@allocating_kernel
def offer_all(queue, capacity, sent_us, size, departs_us):
    for i in range(sent_us.size):
        departs_us[i] = offer(queue, capacity, 0, sent_us[i], size)


def crossed(link_bps, size, times):
    """Return the share of packets that a real queue drops, and the mean time (ms) of the others; each packet of a call is sent `times`."""
    draws, packets = np.random.default_rng(1), 4000
    # Uniformly within the slot, so that packets of equal spacing do not take turns in being dropped.
    leaves_us = SLOT_US * np.arange(packets) + draws.integers(0, SLOT_US, (CALLS, packets))
    sent_us = np.sort(np.repeat(leaves_us.ravel(), times))
    queue, capacity = allocate_queue(1), pool([constant(round(link_bps))], 1)
    choose_trace(capacity, 0, 0, 0)
    start_link(queue, capacity, 0, MAX_QUEUED, round(link_bps * QUEUE_US / 8e6))
    departs_us = np.empty(sent_us.size, np.int64)
    offer_all(queue, capacity, sent_us, size, departs_us)
    passed = departs_us >= 0
    return 1.0 - passed.mean(), (departs_us - sent_us)[passed].mean() / 1000.0


@pytest.mark.parametrize(("size", "times"), [(PLAIN, 1), (PLAIN + int(earlier_bytes(0)), 1), (PLAIN, 2)], ids=["plain", "RED1", "COPY1"])
@pytest.mark.parametrize("plain_load", [0.4, 0.8, 1.2])
def test_packets_of_calls_alike_meet_what_the_fluid_says(size, times, plain_load):
    load = plain_load * size * times / PLAIN
    dropped, queued_ms = crossed(CALLS * PLAIN_BPS / plain_load, size, times)
    met = crossing(np.array([load]))
    assert dropped == pytest.approx(met.dropped[0], abs=0.02)
    if load > 1.1:
        assert queued_ms == pytest.approx(QUEUE_US / 1000.0, rel=0.03)
        assert met.time_us[0] == QUEUE_US
    else:
        assert met.time_us[0] / 3000.0 < queued_ms < met.time_us[0] / 1000.0 + 1.0


def test_more_load_never_helps():
    loads = np.linspace(0.0, 3.0, 301)
    met = crossing(loads)
    assert np.all(np.diff(met.time_us) >= 0) and np.all(np.diff(met.dropped) >= 0.0)
    assert met.time_us[0] == 0 and met.time_us[-1] == QUEUE_US and met.dropped[-1] == pytest.approx(2 / 3)


def test_a_world_has_the_time_of_its_load_and_drops_more_with_more():
    scenario, rows = Scenario("table1", "correlated", 1000), np.arange(2)
    draws = [scenario.draw("validation", seed) for seed in range(2)]
    world = scenario.world(2)
    for row, draw in enumerate(draws):
        world.start(row, draw)
    base = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))
    shared, before = SharedLinkWorld(base, draws), base.loaded.copy()
    shared.apply_load(np.array([0.5, 2.0]))
    assert np.array_equal(base.loaded, before)
    arrived = base.loaded != LOST
    assert np.array_equal(shared.loaded[:, 0] != LOST, arrived[:, 0])
    assert set(np.unique((shared.loaded - base.loaded)[:, 0][arrived[:, 0]])) == set(crossing(np.array([0.5])).time_us)
    half = shared.loaded[:, 1] == LOST
    assert half[arrived[:, 1]].mean() == pytest.approx(0.5, abs=0.02)
    shared.apply_load(np.array([0.5, 1.5]))
    assert np.all(half[shared.loaded[:, 1] == LOST])
