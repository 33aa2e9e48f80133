"""Conferences: systems of trees, same worlds, same seeds: paired; the optima of the worlds are found once for all systems."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.systems import System
from vcgym.conference.board.columns import CONFERENCE as COLUMNS
from vcgym.conference.board.columns import outcome
from vcgym.conference.env.listening import ratings
from vcgym.conference.network.scenario import ConferenceScenario
from vcgym.conference.network.world import ConferenceWorld
from vcgym.conference.optimum.oracle_lp import oracle_lp
from vcgym.conference.rules.celerity import REPORT_S
from vcgym.conference.rules.play import play
from vcgym.conference.stage import STAGE
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind, WorldKeys
from vcgym.leaderboard.evaluation.part import Part
from vcgym.network.scenarios.splits import unlock_test_split

MAX_ARRIVALS = 1 << 23  # of a conference that are logged; more are refused


def optima_kbps(world: ConferenceWorld) -> list[NDArray[np.float64]]:
    """Return the rates (P,) of the optimum of two hops from each change of a world on."""
    return [oracle_lp(world.overlay_at(at_s)).allocation.session_kbps() for at_s in world.changes_s()]


class ConferenceKind(Kind):
    """Conferences, one after the other."""

    def open(self, part: Part, packets: int) -> ConferenceScenario:
        return ConferenceScenario(part.scenario)

    def card(self, scenario: ConferenceScenario) -> str:
        return scenario.card

    @unlock_test_split()
    def draw(self, part: Part, scenario: ConferenceScenario, which: WorldKeys) -> list[ConferenceWorld]:
        return [scenario.draw(part.split, seed, kind) for kind, seed in which]

    def fingerprint(self, parts: Iterable[tuple[Part, ConferenceScenario]]) -> str:
        """Return the hash of all worlds."""
        text = "".join(repr(self.draw(part, scenario, self.worlds(part, scenario))) for part, scenario in parts)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def play_rules(
        self, systems: Sequence[System], scenario: ConferenceScenario, draws: Sequence[ConferenceWorld], threads: int
    ) -> Iterator[FinishedCalls]:  # fmt: skip
        """Yield rollouts whose time per decision is that of the whole conference per party and report interval."""
        optima = [optima_kbps(world) for world in draws]
        decisions = sum(len(world.topology.parties) * world.seconds for world in draws) / REPORT_S
        for system in systems:
            calls, took_s = [], 0.0
            for world, best in zip(draws, optima, strict=True):
                began = time.perf_counter()
                played = play(world, system.trees, MAX_ARRIVALS)
                took_s += time.perf_counter() - began
                r = ratings(played.log, played.emitted, world.seconds)
                calls.append({"parties": len(world.topology.parties), **outcome(played, world.changes_s(), best, r)})
            yield FinishedCalls(calls, 1e6 * took_s / max(decisions, 1.0), took_s)

    def rows(self, part: Part, scenario: ConferenceScenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        return [{"stratum": str(part.stratum), **call} for call in finished.calls]


CONFERENCE = ConferenceKind("conference", tuple(STAGE.controls), COLUMNS)
