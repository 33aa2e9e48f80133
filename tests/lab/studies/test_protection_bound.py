"""The bound on repairs: what was due in concealed ticks, every choice of repairs in tiny calls, and whole calls with protection."""

import hashlib
from itertools import combinations

import numpy as np
import pytest

from lab.studies.protection.repairs import Due, due, most_rating, most_repairs, repairs
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.packet_size import PLAIN, earlier_bytes
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.paper import PaperWorld
from vcgym.network.worlds.quantiles import PROBABILITIES
from vcgym.network.worlds.world import blocks

CALLS, PACKETS = 12, 600


class Shaky(Recipe):
    """Three paths with delays of 10 to 100 ms that lose packets in runs."""

    modes = ("paper",)

    def __init__(self, settings):
        self.strata = {"shaky": 1.0}
        self.layout = Layout(("a", "b", "c"), np.arange(3)[:, None], hashlib.sha256(b"shaky").hexdigest())

    def pairs(self, split):
        return ["here-there"]

    def world(self, sessions):
        return PaperWorld(sessions, self.layout.path_links)

    def parameters(self, split, pair, stratum, draws):
        quantiles_ms = draws.uniform(10.0, 20.0, (3, 1)) + draws.uniform(20.0, 80.0, (3, 1)) * PROBABILITIES
        return {"quantiles_ms": quantiles_ms, "loss": draws.uniform(0.0, 0.1, 3)}


@pytest.fixture(scope="module")
def calls():
    """Scenario and draws; of each world the delays and the history."""
    scenario = Scenario(Shaky, "paper", PACKETS, loss_run_slots=3.0)
    draws = [scenario.draw("train", row) for row in range(CALLS)]
    world, found = scenario.world(1), []
    for draw in draws:
        history = world.start(0, draw)
        found.append((np.concatenate(list(blocks(world, PACKETS)), axis=1)[:, :PACKETS], history))
    return scenario, draws, found


def played(calls, budget=0.0, protection=None):
    scenario, draws, _ = calls
    batch = CallBatch(scenario, CALLS, Direct(), FixedLag(40.0), log=True, protection=protection, budget=budget)
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.play(np.arange(CALLS))
    return batch.played()


def test_each_concealed_tick_has_a_packet_that_was_not_there(calls):
    plain = played(calls)
    for s in range(CALLS):
        wanted = due(plain, s)
        assert len(wanted.packet) == plain.totals.ticks_concealed[s] > 0
        arrived_us = plain.arrived_us[s, wanted.packet]
        assert ((arrived_us < 0) | (arrived_us > wanted.tick_us) | (plain.emitted_us[s, wanted.packet] < 0)).all()
        assert len(np.unique(wanted.tick_us)) == len(wanted.tick_us)


@pytest.mark.parametrize(
    "protection",
    [
        FixedProtection(earlier=0b10), FixedProtection(earlier=0b1110), FixedCopies(), FixedCopies(copies=2, after=1),
        FixedProtection(repair=1, covers=4),
    ],
)  # fmt: skip
def test_no_protection_repairs_more_than_the_bound(calls, protection):
    plain = played(calls)
    for budget in (0.02, 0.1, 3.0):
        protected = played(calls, budget, protection)
        for s, (delay_us, history) in enumerate(calls[2]):
            wanted = due(plain, s)
            assert repairs(wanted, protected, s) <= most_repairs(wanted, delay_us, budget) <= len(wanted.packet)
            assert ratings_of(protected.totals)[s] <= most_rating(delay_us, history)


def most_by_trial(wanted, delay_us, budget_bytes):
    """Try every set of repairs: a copy in any slot on any path, or a further earlier frame in a packet on path 0."""
    packets = delay_us.shape[1]
    offers = []
    for tick, (packet, tick_us) in enumerate(zip(wanted.packet.tolist(), wanted.tick_us.tolist(), strict=True)):
        in_time = [
            (path, slot)
            for path in range(len(delay_us))
            for slot in range(packet, packets)
            if delay_us[path, slot] != LOST and delay_us[path, slot] + slot * SLOT_US <= tick_us
        ]
        costs = {earlier_bytes(1) if path == 0 and slot > packet else PLAIN for path, slot in in_time}
        offers += [(tick, cost) for cost in costs]
    best = 0
    for count in range(len(offers) + 1):
        for chosen in combinations(offers, count):
            if sum(cost for _, cost in chosen) <= budget_bytes:
                best = max(best, len({tick for tick, _ in chosen}))
    return best


def test_in_tiny_calls_no_choice_of_repairs_is_above_the_bound_and_with_bytes_enough_one_reaches_it():
    draws, tight = np.random.default_rng(4), 0
    for _ in range(60):
        delay_us = draws.integers(5_000, 60_000, (2, 6)).astype(np.int32)
        delay_us[draws.random((2, 6)) < 0.3] = LOST
        packet = np.sort(draws.choice(6, 4, replace=False))
        wanted = Due(packet, SLOT_US * (packet + draws.integers(1, 6, 4)))
        for budget in (0.1, 0.2, 0.35, 0.5, 10.0):
            found, bound = most_by_trial(wanted, delay_us, budget * 6 * PLAIN), most_repairs(wanted, delay_us, budget)
            assert found <= bound
            assert found == bound or budget < 10.0
            tight += found == bound
    assert tight > 200
