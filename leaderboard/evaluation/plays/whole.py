"""Calls over a shared bottleneck and then paths: systems of path, playout, rate and order,
and agents of `vcgym/Call-v1` with `uplink`.

A scenario is named PATHS+UPLINK, such as wonderproxy+rate; the stratum of a part is the kind of bottleneck. Strata of the paths are sampled
with the declared weights. A world is that of `vcgym/Call-v1` with `uplink` and the same seed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import PlayedFlow
from vcgym.envs.call.sender.uplink import uplink_seed
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.bottleneck import links_hash
from vcgym.leaderboard.evaluation.plays.paths import PathsPlay, conditions
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows, WorldKeys
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.leaderboard.evaluation.rollouts.whole_rollout import (
    WholeRollout,
    WholeScenario,
    WholeWorld,
    play_whole,
    play_whole_agent,
    whole_envs,
)
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import pair_cdfs
from vcgym.leaderboard.results.sender_metrics import capacity_bps, metrics
from vcgym.leaderboard.results.whole_columns import TAKEN
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split

JOIN = "+"
_PATHS = PathsPlay()


class WholePlay(Play):
    """Calls over a shared bottleneck and then paths."""

    def open(self, part: Part, packets: int) -> WholeScenario:
        paths, _, uplink = part.scenario.partition(JOIN)
        return WholeScenario(Scenario(paths, part.mode, packets, **dict(part.settings)), SendingScenario(uplink))

    def card(self, scenario: WholeScenario) -> str:
        both = scenario.paths.layout.card, data_hash(scenario.uplink)
        return hashlib.sha256(" ".join(both).encode()).hexdigest()

    def pairs(self, part: Part, scenario: WholeScenario) -> list[str]:
        return list(scenario.paths.pairs(part.split))

    @unlock_test_split()
    def draw(self, part: Part, scenario: WholeScenario, which: WorldKeys) -> list[WholeWorld]:
        draws = [scenario.paths.draw(part.split, seed, pair) for pair, seed in which]
        return [WholeWorld(draw, part.split, seed, str(part.stratum)) for draw, (_, seed) in zip(draws, which, strict=True)]

    def fingerprint(self, parts: Iterable[tuple[Part, WholeScenario]]) -> str:
        """Return the hash of a sample of worlds of the paths, and that of all worlds of the bottlenecks."""
        parts = list(parts)
        of_paths = _PATHS.fingerprint((part._replace(stratum=None), scenario.paths) for part, scenario in parts)
        return f"{of_paths} {links_hash(link for part, scenario in parts for link in self._links(part, scenario))}"

    @unlock_test_split()
    def _links(self, part: Part, scenario: WholeScenario) -> list[SharedLink]:
        return [scenario.uplink.draw(part.split, uplink_seed(seed), part.stratum) for _, seed in self.worlds(part, scenario)]

    def play(
        self, systems: Sequence[System], scenario: WholeScenario, draws: Sequence[WholeWorld], threads: int
    ) -> Iterator[WholeRollout]:  # fmt: skip
        for system in systems:
            yield play_whole(system, scenario, draws, threads)

    def play_agent(
        self, agent: PublishedAgent | LocalAgent, policy: Policy, part: Part, scenario: WholeScenario, which: WorldKeys, threads: int
    ) -> WholeRollout:  # fmt: skip
        return play_whole_agent(agent, policy, scenario, self.draw(part, scenario, which), threads)

    @unlock_test_split()
    def envs(self, agent: LocalAgent, part: Part, scenario: WholeScenario) -> Any:
        return whole_envs(agent, scenario, 1, part.split, observation=agent.own.reads)

    def rows(self, part: Part, scenario: WholeScenario, which: WorldKeys, rollout: WholeRollout) -> PlayedRows:
        heard = rows(rollout.played, **conditions(scenario.paths, [world.paths for world in self.draw(part, scenario, which)]))
        sent = [
            metrics(flow.link, flow.log, flow.totals, flow.row, flow.targets_bps)
            | {"trace": flow.link.trace.name, "capacity_kbps": capacity_bps(flow.link) / 1000.0, TAKEN.name: _taken(flow, others)}
            for flow, others in zip(rollout.flows, rollout.others_bytes, strict=True)
        ]
        both = [of_sender | of_paths for of_sender, of_paths in zip(sent, heard, strict=True)]  # R is what the listener hears
        return PlayedRows([str(part.stratum)] * len(both), both, pair_cdfs(rollout.played, [pair for pair, _ in which]))


def _taken(flow: PlayedFlow, others_bytes: Sequence[int]) -> float:
    """Return the call's share of what all flows deliver, beyond an equal share; 0 if nothing is delivered."""
    own = int(flow.log["size_bytes"][flow.log["arrived_us"] >= 0].sum())
    delivered = own + sum(others_bytes)
    return own / delivered - 1.0 / (1 + len(others_bytes)) if delivered else 0.0
