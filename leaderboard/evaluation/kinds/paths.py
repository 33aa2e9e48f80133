"""Calls over paths: systems of path and playout, and agents of Call, Relay or Playout."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.controls import control
from vcgym.baselines.controls.control import LOGGED, controls_of
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import Played
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind, Take, WorldKeys, delays_of, measured_time
from vcgym.leaderboard.evaluation.part import FITTED, Part
from vcgym.leaderboard.evaluation.published import AGENT_ENV, PATHS_ENVS, Agent
from vcgym.leaderboard.evaluation.together import batches_together, play_together
from vcgym.leaderboard.results.call_metrics import rows, timelines
from vcgym.leaderboard.results.cdf import delay_cdf
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.paths.replay import Replay
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

SAMPLED = 3  # hashed worlds per part: first, middle and last


def play_rules(
    systems: Sequence[System], scenario: Scenario, draws: Sequence[WorldDraw], threads: int = 1, **others: Any
) -> Iterator[FinishedCalls]:  # fmt: skip
    """Play systems on the same worlds, each sampled once for all, and yield the finished calls of each system in order.

    `others` are arguments of `CallBatch`.

    The time per decision covers sending and arrival of a packet, player and counters, but not the sampling of the world.
    """
    if not systems:
        return
    batches = batches_together(scenario, [system.rules for system in systems], len(draws), log=True, **others)
    took_s, packets = play_together(batches, draws, threads), len(draws) * scenario.packets
    for batch, batch_s in zip(batches, took_s.tolist(), strict=True):
        yield FinishedCalls(batch.played(), 1e6 * batch_s / packets, batch_s)


def path_envs(agent: Agent, part: Part, scenario: Scenario, reads: str, calls: int, **others: Any) -> Any:
    """Return environments of calls over the paths of a scenario; `others` are further arguments."""
    arguments = dict(agent.arguments) | {"scenario": scenario, "split": part.split, "observation": reads, **others}
    return gymnasium.make_vec(agent.env, num_envs=calls, **arguments).unwrapped


def taking_calls(envs: Any) -> tuple[Played, Take]:
    """Return the calls of environments over paths, and the function that takes them when they are finished."""
    calls = envs.played()

    def take(done: NDArray[np.int64]) -> None:
        finished = envs.played()
        names = "path", "arrived_us", "emitted_us", "flushed", "played_us", "windows"
        arrays = [(getattr(calls, name), getattr(finished, name)) for name in names]
        for kept, now in (*arrays, *zip(calls.totals, finished.totals, strict=True)):
            kept[done] = now[done]

    return calls, take


class Recorded:
    """Wrapper that records the actions of a policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.reads, self._kept = policy, policy.reads, list[NDArray[np.int64]]()

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return and record the policy's actions."""
        actions, state = self._policy.predict(observation, state, episode_start, deterministic=deterministic)
        self._kept.append(np.array(actions, np.int64).reshape(len(actions), -1))
        return actions, state

    @property
    def actions(self) -> NDArray[np.int64]:
        """Recorded actions (sessions, decisions, controls): path and level of every decision, or the one control of the agent."""
        return np.stack(self._kept, axis=1)


class PathsKind(Kind):
    """Calls over paths."""

    def open(self, part: Part, packets: int) -> Scenario:
        if part.scenario == FITTED:
            return Scenario(part.traces[0], part.mode, packets, **dict(part.settings))
        return Scenario(part.scenario, part.mode, packets, traces=part.traces or None, **dict(part.settings))

    def card(self, scenario: Scenario) -> str:
        return scenario.layout.card

    def pairs(self, part: Part, scenario: Scenario) -> list[str]:
        return list(scenario.pairs(part.split))

    @unlock_test_split()
    def draw(self, part: Part, scenario: Scenario, which: WorldKeys) -> list[WorldDraw]:
        return [scenario.draw(part.split, seed, pair, part.stratum) for pair, seed in which]

    def fingerprint(self, parts: Iterable[tuple[Part, Scenario]]) -> str:
        """Return the hash of pair, seed, history and first block of a sample of worlds."""
        digest = hashlib.sha256()
        for part, scenario in parts:
            which = self.worlds(part, scenario)
            sample = [which[number] for number in np.linspace(0, len(which) - 1, SAMPLED).astype(int).tolist()]
            world = scenario.world(1)
            for (pair, seed), draw in zip(sample, self.draw(part, scenario, sample), strict=True):
                history = world.start(0, draw)
                digest.update(repr((part.scenario, part.mode, pair, seed, draw.stratum, len(which))).encode())
                digest.update(np.round(history * 1000.0).astype("<i8").tobytes())
                digest.update(world.delay_us[0].astype("<i4").tobytes())
        return digest.hexdigest()[:16]

    def play_rules(
        self, systems: Sequence[System], scenario: Scenario, draws: Sequence[WorldDraw], threads: int
    ) -> Iterator[FinishedCalls]:
        return play_rules(systems, scenario, draws, threads)

    def play_policy(
        self, agent: Agent, policy: Policy, part: Part, scenario: Scenario, which: WorldKeys, threads: int = 1
    ) -> FinishedCalls:
        """Play an agent; the actions of one whose log can be verified are logged."""
        if not agent.is_logged:
            return super().play_policy(agent, policy, part, scenario, which, threads)
        recorded = Recorded(policy)
        finished = super().play_policy(agent, recorded, part, scenario, which, threads)
        return finished._replace(actions=_logged(agent, recorded.actions))

    @unlock_test_split()
    def envs(self, agent: Agent, part: Part, scenario: Scenario, reads: str, calls: int = 1, threads: int = 1, log: bool = False) -> Any:
        return path_envs(agent, part, scenario, reads, calls, threads=threads, log=log)

    def reset_options(self, part: Part, pair: str) -> dict[str, Any]:
        return {"pair": pair, "stratum": part.stratum}

    def taking(self, envs: Any) -> tuple[Played, Take]:
        return taking_calls(envs)

    def rows(self, part: Part, scenario: Scenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        draws = self.draw(part, scenario, which)
        measured = rows(finished.calls, **conditions(scenario, draws))
        shown = timelines(finished.calls, which, self.worlds(part, scenario), scenario.layout.path_names)
        return [
            row | {"stratum": draw.stratum, "delays": delays_of(delay_cdf(finished.calls, [s])), "timeline": shown.get(s)}
            for s, (draw, row) in enumerate(zip(draws, measured, strict=True))
        ]


def conditions(scenario: Scenario, draws: Sequence[WorldDraw]) -> dict[str, Any]:
    """Return the identity columns that calls over paths have, with their worlds."""
    recipe = scenario.recipe
    stretches = [recipe.stretches(draw.parameters) if isinstance(recipe, Replay) else [] for draw in draws]
    return measured_time(stretches, 1000.0 / SLOT_US) | {
        "env": AGENT_ENV, "packets": scenario.packets, "latency_from_rtt": "full" if scenario.share_of_rtt == 1.0 else "half",
        "clocked_input": "arrival", "delay_impairment": "reduced",
    }  # fmt: skip


def _logged(agent: Agent, actions: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the log of each session: the agent's decisions, and the system whose rule set another control."""
    columns = [column for column, control in LOGGED.items() if control not in dict(agent.arguments)]
    none: dict[str, Any] = {column: [] for column in LOGGED} | {"rule": agent.rule}
    return [none | dict(zip(columns, of_session.T.tolist(), strict=True)) for of_session in actions]


PATHS = PathsKind("paths", controls_of(control.PATHS), CALL, PATHS_ENVS)
