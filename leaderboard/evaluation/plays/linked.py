"""Calls with protection behind a link that many calls alike share: what protects one call, protects all and loads the link.

The mode of a part says the load that the calls would have without protection and probes, and the budget: `losses in runs, load 0.8, 10 %`.
Each call is played `TURNS` times; from the second time on the link has the load of the bytes that the call sent before, averaged with what
the link had, so that rules which answer losses of their own making come to rest. The last time counts.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import PlayedRows, WorldKeys
from vcgym.leaderboard.evaluation.plays.protected import ProtectedPlay, ProtectedScenario, bytes_beyond
from vcgym.leaderboard.evaluation.rollouts.rollout import Rollout
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.alike import AlikeWorld
from vcgym.network.worlds.world import DrawnWorld, WorldDraw

LOAD = "load "
TURNS = 4


def load_of(mode: str) -> float:
    """Return the load that the mode of a part names."""
    return float(mode.partition(LOAD)[2].partition(",")[0])


class LinkedPlay(ProtectedPlay):
    """Calls over paths with protection behind a link of calls alike."""

    def open(self, part: Part, packets: int) -> ProtectedScenario:
        return super().open(part, packets)._replace(load=load_of(part.mode))

    def play(self, systems: Sequence[System], scenario: ProtectedScenario, draws: Sequence[WorldDraw], threads: int) -> Iterator[Rollout]:
        calm = _sampled(scenario.paths, draws)
        world = AlikeWorld(calm, draws)
        for system in systems:
            of_call: dict[str, Any] = {"log": True, "threads": threads, "world": world, "budget": scenario.budget}
            batch = CallBatch(scenario.paths, len(draws), **system.rules, **of_call)
            load = np.full(len(draws), scenario.load)
            for turn in range(TURNS):
                world.cross(load)
                took_s = _play(batch, draws)
                extra, probes = bytes_beyond(batch.played())
                sent = scenario.load * (1.0 + extra + probes)
                load = sent if turn == 0 else 0.5 * (load + sent)
            yield Rollout(batch.played(), [draw.stratum for draw in draws], 1e6 * took_s / (len(draws) * batch.packets), took_s)

    def rows(self, part: Part, scenario: ProtectedScenario, which: WorldKeys, rollout: Rollout) -> PlayedRows:
        found = super().rows(part, scenario, which, rollout)
        return found._replace(rows=[row | {"link_load": scenario.load * (1.0 + row["overhead"])} for row in found.rows])


def _sampled(scenario: Scenario, draws: Sequence[WorldDraw]) -> DrawnWorld:
    world, which = scenario.world(len(draws)), np.arange(len(draws))
    for row, draw in enumerate(draws):
        world.start(row, draw)
    return DrawnWorld(world, which, -(-scenario.packets // BLOCK_SLOTS))


def _play(batch: CallBatch, draws: Sequence[WorldDraw]) -> float:
    """Play each call to its end, and return the seconds that it took."""
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    began = time.perf_counter()
    batch.play(np.arange(len(draws)))
    return time.perf_counter() - began
