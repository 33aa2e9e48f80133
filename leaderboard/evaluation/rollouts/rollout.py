"""Play a system on given worlds: rules inside the compiled loop at their native clocks, other policies through `predict`.

All systems play the same worlds and seeds, so results are paired.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import Played
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import batches_together, play_together
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

Worlds = list[tuple[str, int]]  # pair and seed


class Rollout(NamedTuple):
    """Finished calls, their strata, the measured time per decision, which differs between runs, and the log of an agent's actions."""

    played: Played
    strata: list[str]
    decision_us: float
    wall_clock_s: float
    actions: Sequence[Any] = ()


def play_rules_together(
    systems: Sequence[System], scenario: Scenario, draws: Sequence[WorldDraw], threads: int = 1, **others: Any
) -> Iterator[Rollout]:  # fmt: skip
    """Play systems on the same worlds, each sampled once for all, and yield the rollout of each system in order.

    `others` are arguments of `CallBatch`.

    The time per decision covers sending and arrival of a packet, player and counters, but not the sampling of the world.
    """
    if not systems:
        return
    batches = batches_together(scenario, [system.rules for system in systems], len(draws), log=True, **others)
    took_s = play_together(batches, draws, threads)
    strata, packets = [draw.stratum for draw in draws], len(draws) * scenario.packets
    for batch, batch_s in zip(batches, took_s.tolist(), strict=True):
        yield Rollout(batch.played(), strata, 1e6 * batch_s / packets, batch_s)


def call_envs(env_id: str, scenario: Scenario, num_envs: int, split: str, **arguments: Any) -> Any:
    """Return the environments of a policy on worlds of a scenario; by default without automatic restart."""
    return gymnasium.make_vec(
        env_id, num_envs=num_envs, scenario=scenario, split=split, **({"autoreset_mode": AutoresetMode.DISABLED} | arguments)
    )


@unlock_test_split()
def play_policy(
    policy: Policy, env_id: str, scenario: Scenario, split: str, worlds: Worlds, threads: int = 1, stratum: str | None = None,
    **arguments: Any,
) -> Rollout:  # fmt: skip
    """Play a policy on each world through the environment; the time per decision is that of `predict` for one session."""
    arguments["autoreset_mode"] = AutoresetMode.NEXT_STEP  # calls with as many packets may have different numbers of arrivals
    envs = call_envs(env_id, scenario, len(worlds), split, threads=threads, observation=policy.reads, log=True, **arguments)
    began = time.perf_counter()
    names = [name for name, _ in worlds]
    for name in sorted(set(names)):
        mask = np.array([other == name for other in names])
        observation, _ = envs.reset(seed=[seed for _, seed in worlds], options={"pair": name, "stratum": stratum, "reset_mask": mask})
    strata, played = [draw.stratum for draw in envs.unwrapped.batch.draws], envs.played()
    decision_us = play(policy, envs, observation, lambda done: copy_rows(played, envs.played(), done)).decision_us
    envs.close()
    return Rollout(played, strata, decision_us, time.perf_counter() - began)


def copy_rows(to: Played, finished: Played, rows: NDArray[np.int64]) -> None:
    """Copy the finished calls in `rows`."""
    names = "path", "arrived_us", "emitted_us", "flushed", "played_us", "windows"
    arrays = [(getattr(to, name), getattr(finished, name)) for name in names]
    for kept, now in (*arrays, *zip(to.totals, finished.totals, strict=True)):
        kept[rows] = now[rows]
