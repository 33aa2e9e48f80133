"""Play systems of four controls and agents on given worlds: a shared bottleneck, then paths. Same worlds, same seeds: paired."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.controls.control import PATHS
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.sender.batch import PlayedFlow
from vcgym.envs.call.sender.uplink import LOG_PACKETS, UplinkBatch
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.leaderboard.evaluation.rollouts.rollout import call_envs, copy_rows
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw


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
        decision_us: time per packet of audio for rules, per `predict` and call for agents.
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
        len(worlds), scenario.paths.paths, scenario.uplink, system.rate, system.order, system.pacing or 0.0,
        keeps_order=scenario.paths.mode == "correlated", log_packets=LOG_PACKETS, seconds=scenario.paths.packets * SLOT_US * 1e-6,
    )  # fmt: skip
    batch = CallBatch(scenario.paths, len(worlds), log=True, threads=threads, uplink=uplink, **system.of(PATHS))
    for row, world in enumerate(worlds):
        uplink.draw(row, world.split, world.seed, world.kind)
        batch.start(row, world.paths)
    began = time.perf_counter()
    batch.play(np.arange(len(worlds)))
    took_s = time.perf_counter() - began
    flows, others = _senders(uplink, range(len(worlds)))
    return WholeRollout(batch.played(), flows, others, 1e6 * took_s / (len(worlds) * scenario.paths.packets), took_s)


def whole_envs(agent: PublishedAgent | LocalAgent, scenario: WholeScenario, num_envs: int, split: str, **others: Any) -> Any:
    """Return the environments of an agent on worlds of a scenario; a call that is over starts again."""
    arguments = dict(agent.arguments) | {"uplink": scenario.uplink, "autoreset_mode": AutoresetMode.NEXT_STEP, **others}
    return call_envs(agent.env, scenario.paths, num_envs, split, **arguments)


@unlock_test_split()
def play_whole_agent(
    agent: PublishedAgent | LocalAgent, policy: Policy, scenario: WholeScenario, worlds: Sequence[WholeWorld], threads: int = 1
) -> WholeRollout:  # fmt: skip
    """Play an agent of `vcgym/Call-v1` with `uplink` on each world of one kind; for the rest see `play_whole`."""
    envs = whole_envs(agent, scenario, len(worlds), worlds[0].split, threads=threads, observation=policy.reads, log=True)
    pairs = [world.paths.pair for world in worlds]
    for pair in sorted(set(pairs)):
        options = {"pair": pair, "kind": worlds[0].kind, "reset_mask": np.array([other == pair for other in pairs])}
        observation, _ = envs.reset(seed=[world.seed for world in worlds], options=options)
    played, flows, others = envs.played(), dict[int, PlayedFlow](), dict[int, list[int]]()
    began = time.perf_counter()

    def keep(done: NDArray[np.int64]) -> None:
        copy_rows(played, envs.played(), done)
        for row, flow, of_others in zip(done.tolist(), *_senders(envs.unwrapped.uplink, done.tolist()), strict=True):
            flows[row], others[row] = flow, of_others

    decision_us = play(policy, envs, observation, keep).decision_us
    envs.close()
    rows = range(len(worlds))
    return WholeRollout(played, [flows[row] for row in rows], [others[row] for row in rows], decision_us, time.perf_counter() - began)


def _senders(uplink: UplinkBatch, rows: Iterable[int]) -> tuple[list[PlayedFlow], list[list[int]]]:
    """Return the finished sender of each of `rows`, and the bytes that each other flow delivered."""
    rows = list(rows)
    return [uplink.played(row) for row in rows], [uplink.sending.others_bytes(row) for row in rows]
