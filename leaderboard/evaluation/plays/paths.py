"""Calls over paths: systems of path and playout, and agents of Call, Relay or Playout."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.controls.control import LOGGED
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.part import FITTED, Part
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows, WorldKeys, measured_time
from vcgym.leaderboard.evaluation.published import AGENT_ENV, LocalAgent, PublishedAgent
from vcgym.leaderboard.evaluation.rollouts.actions import Recorded
from vcgym.leaderboard.evaluation.rollouts.rollout import Rollout, call_envs, play_policy, play_rules_together
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import pair_cdfs
from vcgym.leaderboard.results.timeline import timelines
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.paths.replay import Replay
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

SAMPLED = 3  # hashed worlds per part: first, middle and last


class PathsPlay(Play):
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

    def play(self, systems: Sequence[System], scenario: Scenario, draws: Sequence[WorldDraw], threads: int) -> Iterator[Rollout]:
        return play_rules_together(systems, scenario, draws, threads)

    def play_agent(
        self, agent: PublishedAgent | LocalAgent, policy: Policy, part: Part, scenario: Scenario, which: WorldKeys, threads: int
    ) -> Rollout:  # fmt: skip
        """Play an agent; the actions of a published one are logged, if a log of them can be verified."""
        player = Recorded(policy) if isinstance(agent, PublishedAgent) and agent.is_logged else policy
        arguments = dict(agent.arguments)
        rollout = play_policy(player, agent.env, scenario, part.split, list(which), threads, part.stratum, **arguments)
        if isinstance(agent, PublishedAgent) and isinstance(player, Recorded):
            rollout = rollout._replace(actions=_logged(agent, player.actions))
        return rollout

    @unlock_test_split()
    def envs(self, agent: LocalAgent, part: Part, scenario: Scenario) -> Any:
        return call_envs(agent.env, scenario, 1, part.split, observation=agent.own.reads, **dict(agent.arguments))

    def rows(self, part: Part, scenario: Scenario, which: WorldKeys, rollout: Rollout) -> PlayedRows:
        pairs = [pair for pair, _ in which]
        measured = rows(rollout.played, **conditions(scenario, self.draw(part, scenario, which)))
        courses = timelines(rollout.played, which, self.worlds(part, scenario), scenario.layout.path_names)
        delays = pair_cdfs(rollout.played, pairs)
        return PlayedRows(rollout.strata, measured, delays, courses, rollout.actions)


def conditions(scenario: Scenario, draws: Sequence[WorldDraw]) -> dict[str, Any]:
    """Return the identity columns that calls over paths have, with their worlds."""
    recipe = scenario.recipe
    stretches = [recipe.stretches(draw.parameters) if isinstance(recipe, Replay) else [] for draw in draws]
    return measured_time(stretches, 1000.0 / SLOT_US) | {
        "env": AGENT_ENV, "packets": scenario.packets, "latency_from_rtt": "full" if scenario.share_of_rtt == 1.0 else "half",
        "clocked_input": "arrival", "delay_impairment": "reduced",
    }  # fmt: skip


def _logged(agent: PublishedAgent, actions: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the log of each session: the agent's decisions, and the system whose rule set another control."""
    columns = [column for column, control in LOGGED.items() if control not in dict(agent.arguments)]
    none: dict[str, Any] = {column: [] for column in LOGGED} | {"rule": agent.rule}
    return [none | dict(zip(columns, of_session.T.tolist(), strict=True)) for of_session in actions]
