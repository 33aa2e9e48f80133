"""Play cells of calls over a bottleneck, one cell at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import Cell, content, verdict
from vcgym.leaderboard.evaluation.entrant import EntrantError, Judged
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent, cost_of
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import SenderRollout, play_sender, play_sender_agent
from vcgym.leaderboard.evaluation.suites import links
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.sender_columns import RATE, RMCAT
from vcgym.leaderboard.results.sender_metrics import ACCOUNTING, capacity_bps
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario


def play_sender_cells(piece: Mapping[str, Cell], scenario: SendingScenario, threads: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file of each cell; all cells have the same share."""
    share = next(iter(piece.values())).share
    drawn = links(scenario, share.part.split, list(share.worlds))
    for file, cell in piece.items():
        if isinstance(cell.system, System):
            rollout = play_sender(cell.system, drawn, scenario.traces, scenario.flows, threads, columns_of_cell(cell) is RMCAT)
            yield file, _content(cell, rollout, cost_of(cell.name, cell.system))
        else:
            yield file, _agent_content(cell, cell.system, scenario)


def columns_of_cell(cell: Cell) -> Columns:
    """Return the columns of the rows of a cell."""
    return RMCAT if cell.share.part.scenario in ("rmcat", "rmcat-extended") else RATE


def _agent_content(cell: Cell, agent: PublishedAgent | LocalAgent, scenario: SendingScenario) -> bytes:
    try:
        judged = Judged(agent)
        rollout = play_sender_agent(agent, judged, scenario, cell.share.worlds)
    except EntrantError as error:
        return verdict(columns_of_cell(cell), str(error))
    return _content(cell, rollout, cost_of(cell.name, judged.policy))


def _content(cell: Cell, rollout: SenderRollout, cost: Mapping[str, int]) -> bytes:
    kind = str(cell.share.part.stratum)
    identity = cell.identity([kind] * len(rollout.links))
    rows: list[dict[str, Any]] = [
        {name: value[row] if isinstance(value, list) else value for name, value in identity.items()}
        | {"trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0, **cost, **measured}
        for row, (link, measured) in enumerate(zip(rollout.links, rollout.metrics, strict=True))
    ]
    delays = {kind: {ACCOUNTING: DelayCdf.of_all(cdfs[ACCOUNTING] for cdfs in rollout.delays)}}
    return content(columns_of_cell(cell), rows, (rollout.decision_us, rollout.wall_clock_s), delays)
