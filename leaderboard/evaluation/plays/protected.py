"""Calls over paths whose packets may be protected, within a budget of bytes that is the same for every system.

A scenario is named SCENARIO MODE, such as `wonderproxy correlated`, which is also the stratum of its rows: the kind of world. The mode of a
part says how losses come and what the budget is: `losses in runs, 10 %`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import Played
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.paths import PathsPlay, conditions
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows, WorldKeys
from vcgym.leaderboard.evaluation.rollouts.rollout import Rollout, play_rules_together
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import pair_cdfs
from vcgym.network.playout.packet_size import PROBE_BYTES, plain_bytes
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

PERCENT = " %"
_PATHS = PathsPlay()


class ProtectedScenario(NamedTuple):
    """Scenario of the paths, share of the plain bytes that protection may add, and load of a shared link by plain bytes; 0: none."""

    paths: Scenario
    budget: float
    load: float = 0.0

    @property
    def name(self) -> str:
        """Name of the scenario of the paths."""
        return self.paths.name


def budget_of(mode: str) -> float:
    """Return the budget that the mode of a part names, `losses in runs, 10 %`, as a share."""
    return float(mode.removesuffix(PERCENT).rpartition(" ")[2]) / 100.0


def bytes_beyond(played: Played) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bytes of protection and those of probes in each call, as shares of the bytes of its plain packets."""
    sessions, sent = played.arrived_us.shape
    counts, plain = played.protection, plain_bytes(played.packet_us) * sent
    extra = np.zeros(sessions) if counts is None else counts["extra_bytes"] / plain
    return extra, played.totals.probes_sent * PROBE_BYTES / plain


class ProtectedPlay(Play):
    """Calls over paths with protection."""

    def open(self, part: Part, packets: int) -> ProtectedScenario:
        scenario, _, mode = part.scenario.partition(" ")
        return ProtectedScenario(Scenario(scenario, mode, packets, **dict(part.settings)), budget_of(part.mode))

    def card(self, scenario: ProtectedScenario) -> str:
        return _PATHS.card(scenario.paths)

    def pairs(self, part: Part, scenario: ProtectedScenario) -> list[str]:
        return _PATHS.pairs(part, scenario.paths)

    def draw(self, part: Part, scenario: ProtectedScenario, which: WorldKeys) -> list[WorldDraw]:
        return _PATHS.draw(part, scenario.paths, which)

    def fingerprint(self, parts: Iterable[tuple[Part, ProtectedScenario]]) -> str:
        """Return the hash of a sample of worlds of the paths."""
        return _PATHS.fingerprint((part, scenario.paths) for part, scenario in parts)

    def play(self, systems: Sequence[System], scenario: ProtectedScenario, draws: Sequence[WorldDraw], threads: int) -> Iterator[Rollout]:
        return play_rules_together(systems, scenario.paths, draws, threads, budget=scenario.budget)

    def rows(self, part: Part, scenario: ProtectedScenario, which: WorldKeys, rollout: Rollout) -> PlayedRows:
        played, sent = rollout.played, scenario.paths.packets
        left = np.mean(played.arrived_us < 0, axis=1)
        counts = played.protection
        lost = left if counts is None else counts["lost"] / sent
        coarse = np.zeros(len(which)) if counts is None else counts["coarse"] / sent
        extra, probes = bytes_beyond(played)
        found = [
            row
            | {"network_loss": lost[s], "residual_loss": left[s], "coarse_share": coarse[s]}
            | {"protection_share": extra[s], "overhead": extra[s] + probes[s]}
            for s, row in enumerate(rows(played, **conditions(scenario.paths, self.draw(part, scenario, which))))
        ]
        return PlayedRows([part.scenario] * len(found), found, pair_cdfs(played, [pair for pair, _ in which]))
