"""Play a system of four controls on given worlds: a shared bottleneck, then paths. Same worlds, same seeds: paired."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.sender.batch import PlayedFlow
from vcgym.envs.call.sender.uplink import UplinkBatch
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

MAX_PACKETS = 1 << 16  # capacity of a call's log


class WholeScenario(NamedTuple):
    """Paths, and the bottleneck before them."""

    paths: Scenario
    uplink: SendingScenario

    @property
    def name(self) -> str:
        """Name of both."""
        return f"{self.paths.name}+{self.uplink.name}"


class WholeWorld(NamedTuple):
    """World of the paths, and the split, seed and kind of the world of the bottleneck."""

    paths: WorldDraw
    split: str
    seed: int
    kind: str


class WholeRollout(NamedTuple):
    """Finished calls.

    Attributes:
        played: audio of each call, packet by packet.
        flows: sender of each call.
        others_bytes: bytes that each other flow of each call's bottleneck delivered.
        decision_us: time per packet of audio.
        wall_clock_s: time of all calls.
    """

    played: Played
    flows: list[PlayedFlow]
    others_bytes: list[list[int]]
    decision_us: float
    wall_clock_s: float


@unlock_test_split()
def play_whole(system: System, scenario: WholeScenario, worlds: Sequence[WholeWorld], threads: int = 1) -> WholeRollout:
    """Play a system on each world.

    Args:
        system: system with a rule for path, playout, rate and order.
        scenario: scenario of the worlds.
        worlds: the worlds.
        threads: threads that share the calls; no effect on the result.

    Raises:
        OverflowError: a call sends more packets than its log holds.
    """
    uplink = UplinkBatch(
        len(worlds), scenario.paths.paths, scenario.uplink, system.rate, system.scheduler, system.pacing or 0.0,
        keeps_order=scenario.paths.mode == "correlated", log_packets=MAX_PACKETS, seconds=scenario.paths.packets * SLOT_US * 1e-6,
    )  # fmt: skip
    batch = CallBatch(scenario.paths, len(worlds), system.router, system.receiver, log=True, threads=threads, uplink=uplink)
    for row, world in enumerate(worlds):
        uplink.draw(row, world.split, world.seed, world.kind)
        batch.start(row, world.paths)
    began = time.perf_counter()
    batch.play(np.arange(len(worlds)))
    took_s = time.perf_counter() - began
    rows = range(len(worlds))
    flows, others = [uplink.played(row) for row in rows], [uplink.sending.others_bytes(row) for row in rows]
    return WholeRollout(batch.played(), flows, others, 1e6 * took_s / (len(worlds) * scenario.paths.packets), took_s)
