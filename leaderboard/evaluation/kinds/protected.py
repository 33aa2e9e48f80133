"""Calls over paths whose packets may be protected, within a budget of bytes that is the same for every system.

A scenario is named SCENARIO MODE, such as `wonderproxy correlated`, which is also the stratum of its rows: the kind of world. The mode of a
part says in words how losses come, what the budget is and, with a link that many calls alike share, what load it has.

What protects one such call, protects all and loads the link. Each call is played `TURNS` times; from the second time on the link has the
load of the bytes that the call sent before, averaged with what the link had, so that rules which answer losses of their own making come to
rest. The last time counts.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls import control
from vcgym.baselines.controls.control import controls_of
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind, WorldKeys, delays_of
from vcgym.leaderboard.evaluation.kinds.paths import PATHS, conditions, play_rules
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import delay_cdf
from vcgym.leaderboard.results.kinds import LINKED as LINKED_COLUMNS
from vcgym.leaderboard.results.kinds import PROTECTED as PROTECTED_COLUMNS
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.packet_size import PROBE_BYTES, plain_bytes
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.shared_link import SharedLinkWorld
from vcgym.network.worlds.world import DrawnWorld, WorldDraw

TURNS = 4


class ProtectedScenario(NamedTuple):
    """Scenario of the paths, share of the plain bytes that protection may add, and load of a shared link by plain bytes; 0: none."""

    paths: Scenario
    budget: float
    load: float = 0.0

    @property
    def name(self) -> str:
        """Name of the scenario of the paths."""
        return self.paths.name


def bytes_beyond(played: Played) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bytes of protection and those of probes in each call, as shares of the bytes of its plain packets."""
    sessions, sent = played.arrived_us.shape
    counts, plain = played.protection, plain_bytes(played.packet_us) * sent
    extra = np.zeros(sessions) if counts is None else counts["extra_bytes"] / plain
    return extra, played.totals.probes_sent * PROBE_BYTES / plain


class ProtectedKind(Kind):
    """Calls over paths with protection."""

    def open(self, part: Part, packets: int) -> ProtectedScenario:
        scenario, _, mode = part.scenario.partition(" ")
        return ProtectedScenario(Scenario(scenario, mode, packets, **dict(part.settings)), part.budget, part.load)

    def card(self, scenario: ProtectedScenario) -> str:
        return PATHS.card(scenario.paths)

    def pairs(self, part: Part, scenario: ProtectedScenario) -> list[str]:
        return PATHS.pairs(part, scenario.paths)

    def draw(self, part: Part, scenario: ProtectedScenario, which: WorldKeys) -> list[WorldDraw]:
        return PATHS.draw(part, scenario.paths, which)

    def fingerprint(self, parts: Iterable[tuple[Part, ProtectedScenario]]) -> str:
        """Return the hash of a sample of worlds of the paths."""
        return PATHS.fingerprint((part, scenario.paths) for part, scenario in parts)

    def play_rules(
        self, systems: Sequence[System], scenario: ProtectedScenario, draws: Sequence[WorldDraw], threads: int
    ) -> Iterator[FinishedCalls]:  # fmt: skip
        return play_rules(systems, scenario.paths, draws, threads, budget=scenario.budget)

    def rows(self, part: Part, scenario: ProtectedScenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        played, sent = finished.calls, scenario.paths.packets
        left = np.mean(played.arrived_us < 0, axis=1)
        counts = played.protection
        lost = left if counts is None else counts["lost"] / sent
        coarse = np.zeros(len(which)) if counts is None else counts["coarse"] / sent
        extra, probes = bytes_beyond(played)
        return [
            row
            | {"stratum": part.scenario, "delays": delays_of(delay_cdf(played, [s]))}
            | {"network_loss": lost[s], "residual_loss": left[s], "coarse_share": coarse[s]}
            | {"protection_share": extra[s], "overhead": extra[s] + probes[s]}
            for s, row in enumerate(rows(played, **conditions(scenario.paths, self.draw(part, scenario, which))))
        ]


class LinkedKind(ProtectedKind):
    """Calls over paths with protection behind a link of calls alike."""

    def play_rules(
        self, systems: Sequence[System], scenario: ProtectedScenario, draws: Sequence[WorldDraw], threads: int
    ) -> Iterator[FinishedCalls]:  # fmt: skip
        world = SharedLinkWorld(_sampled(scenario.paths, draws), draws)
        for system in systems:
            of_call: dict[str, Any] = {"log": True, "threads": threads, "world": world, "budget": scenario.budget}
            batch = CallBatch(scenario.paths, len(draws), **system.rules, **of_call)
            load = np.full(len(draws), scenario.load)
            for turn in range(TURNS):
                world.apply_load(load)
                took_s = _play(batch, draws)
                extra, probes = bytes_beyond(batch.played())
                sent = scenario.load * (1.0 + extra + probes)
                load = sent if turn == 0 else 0.5 * (load + sent)
            yield FinishedCalls(batch.played(), 1e6 * took_s / (len(draws) * batch.packets), took_s)

    def rows(self, part: Part, scenario: ProtectedScenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        found = super().rows(part, scenario, which, finished)
        return [row | {"link_load": scenario.load * (1.0 + row["overhead"])} for row in found]


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


PROTECTED = ProtectedKind(
    "protected paths", (*controls_of(control.PATHS), *controls_of(control.PROTECTED)), PROTECTED_COLUMNS
)  # fmt: skip
LINKED = LinkedKind("protected paths behind a link", PROTECTED.controls, LINKED_COLUMNS)
