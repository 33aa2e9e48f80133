"""A link shared by calls alike: bounds of its closed form, packets in a real queue, and worlds that differ by nothing else."""

import numpy as np
import pytest

from lab.studies.protection.link import PLAIN_BPS, SCHEMES, play
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.alike import CALLS, QUEUE_US, AlikeWorld, crossing
from vcgym.network.worlds.world import DrawnWorld

SHARES = {"none": 0.0, "RED1": 85 / 120, "COPY1": 1.0}


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme.name in SHARES], ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("plain_load", [0.4, 0.8, 1.2])
def test_packets_of_calls_alike_meet_what_the_fluid_says(scheme, plain_load):
    load = plain_load * (1.0 + SHARES[scheme.name])
    shared = play(scheme, CALLS * PLAIN_BPS / plain_load, CALLS, 4000, QUEUE_US / 1000.0, 0.0, 1.0, 1)
    met = crossing(np.array([load]))
    assert shared.dropped == pytest.approx(met.dropped[0], abs=0.02)
    if load > 1.1:
        assert shared.queued_ms == pytest.approx(QUEUE_US / 1000.0, rel=0.03)
        assert met.time_us[0] == QUEUE_US
    else:
        assert met.time_us[0] / 3000.0 < shared.queued_ms < met.time_us[0] / 1000.0 + 1.0


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
    calm = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))
    alike, before = AlikeWorld(calm, draws), calm.loaded.copy()
    alike.cross(np.array([0.5, 2.0]))
    assert np.array_equal(calm.loaded, before)
    arrived = calm.loaded != LOST
    assert np.array_equal(alike.loaded[:, 0] != LOST, arrived[:, 0])
    assert set(np.unique((alike.loaded - calm.loaded)[:, 0][arrived[:, 0]])) == set(crossing(np.array([0.5])).time_us)
    half = alike.loaded[:, 1] == LOST
    assert half[arrived[:, 1]].mean() == pytest.approx(0.5, abs=0.02)
    alike.cross(np.array([0.5, 1.5]))
    assert np.all(half[alike.loaded[:, 1] == LOST])
