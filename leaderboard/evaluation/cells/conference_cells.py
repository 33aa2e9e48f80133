"""Play cells of conferences, one after the other; the optima of their worlds are found once for all."""

from collections.abc import Iterator, Mapping
from typing import Any

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import Cell, content
from vcgym.leaderboard.evaluation.published import cost_of
from vcgym.leaderboard.evaluation.rollouts.conference_rollout import optima_kbps, play_conferences
from vcgym.leaderboard.evaluation.suites import conferences
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.conference_columns import CONFERENCE
from vcgym.network.scenarios.conference import ConferenceScenario


def play_conference_cells(piece: Mapping[str, Cell], scenario: ConferenceScenario) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file of each cell; all are of one share, and of systems."""
    share = next(iter(piece.values())).share
    worlds = conferences(scenario, share.part, list(share.worlds))
    optima = [optima_kbps(world) for world in worlds]
    kind = str(share.part.stratum)
    for file, cell in piece.items():
        assert isinstance(cell.system, System)  # agents are refused before (`all_participants`)
        rollout = play_conferences(cell.system, worlds, optima)
        identity = cell.identity([kind] * len(worlds))
        rows: list[dict[str, Any]] = [
            {name: value[row] if isinstance(value, list) else value for name, value in identity.items()}
            | {"parties": len(world.topology.parties), **cost_of(cell.name, cell.system), **measured}
            for row, (world, measured) in enumerate(zip(worlds, rollout.metrics, strict=True))
        ]
        delays = {kind: {CONFERENCE.curves[0][0]: DelayCdf.of_all(rollout.delays)}}
        yield file, content(CONFERENCE, rows, (rollout.decision_us, rollout.wall_clock_s), delays)
