"""Conferences: systems of trees; the optima of the worlds are found once for all systems."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows, WorldKeys
from vcgym.leaderboard.evaluation.rollouts.conference_rollout import ConferenceRollout, optima_kbps, play_conferences
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.conference_columns import CONFERENCE
from vcgym.network.overlay.world import ConferenceWorld
from vcgym.network.scenarios.conference import ConferenceScenario
from vcgym.network.scenarios.splits import unlock_test_split


class ConferencePlay(Play):
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

    def play(
        self, systems: Sequence[System], scenario: ConferenceScenario, draws: Sequence[ConferenceWorld], threads: int
    ) -> Iterator[ConferenceRollout]:  # fmt: skip
        optima = [optima_kbps(world) for world in draws]
        for system in systems:
            yield play_conferences(system, draws, optima)

    def rows(self, part: Part, scenario: ConferenceScenario, which: WorldKeys, rollout: ConferenceRollout) -> PlayedRows:
        kind = str(part.stratum)
        rows = [{"parties": parties, **measured} for parties, measured in zip(rollout.parties, rollout.metrics, strict=True)]
        delays = {kind: {CONFERENCE.curves[0][0]: DelayCdf.of_all(rollout.delays)}}
        return PlayedRows([kind] * len(rows), rows, delays)
