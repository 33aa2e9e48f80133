"""Play cells of calls over paths: first the rules together, so that they share each sampled world, then the agents."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import LOGGED
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import Cell, content, verdict
from vcgym.leaderboard.evaluation.entrant import EntrantError, Judged
from vcgym.leaderboard.evaluation.published import AGENT_ENV, LocalAgent, PublishedAgent, cost_of
from vcgym.leaderboard.evaluation.rollouts.actions import Recorded
from vcgym.leaderboard.evaluation.rollouts.rollout import Rollout, play_policy, play_rules_together
from vcgym.leaderboard.evaluation.suites import worlds
from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import pair_cdfs
from vcgym.leaderboard.results.timeline import timeline, watched
from vcgym.network.scenarios.scenario import Scenario


def play_call_cells(piece: Mapping[str, Cell], scenario: Scenario, threads: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file of each cell; all cells have the same share."""
    share = next(iter(piece.values())).share
    part, which = share.part, list(share.worlds)
    rules = {file: cell.system for file, cell in piece.items() if isinstance(cell.system, System)}
    together = play_rules_together(list(rules.values()), scenario, part.split, which, threads, part.stratum)
    for (file, system), rollout in zip(rules.items(), together, strict=True):
        yield file, _content(piece[file], scenario, rollout, cost_of(piece[file].name, system), [])
    for file, cell in piece.items():
        if not isinstance(cell.system, System):
            yield file, _agent_content(cell, cell.system, scenario, threads)


def _agent_content(cell: Cell, agent: PublishedAgent | LocalAgent, scenario: Scenario, threads: int) -> bytes:
    part, which = cell.share.part, list(cell.share.worlds)
    try:
        judged = Judged(agent)
        player = Recorded(judged) if isinstance(agent, PublishedAgent) and agent.is_logged else judged
        rollout = play_policy(player, AGENT_ENV, scenario, part.split, which, threads, part.stratum, **dict(agent.arguments))
    except EntrantError as error:
        return verdict(CALL, str(error))
    actions = _logged(agent, player.actions) if isinstance(agent, PublishedAgent) and isinstance(player, Recorded) else []
    return _content(cell, scenario, rollout, cost_of(cell.name, judged.policy), actions)


def _logged(agent: PublishedAgent, actions: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the log of each session: the agent's decisions, and the system whose rule set another control."""
    columns = [column for column, control in LOGGED.items() if control not in dict(agent.arguments)]
    none: dict[str, Any] = {column: [] for column in LOGGED} | {"rule": agent.rule}
    return [none | dict(zip(columns, of_session.T.tolist(), strict=True)) for of_session in actions]


def _content(cell: Cell, scenario: Scenario, rollout: Rollout, cost: Mapping[str, int], actions: list[Any]) -> bytes:
    identity = cell.identity(rollout.strata) | {
        "env": AGENT_ENV, "packets": cell.share.packets, "latency_from_rtt": "full" if scenario.share_of_rtt == 1.0 else "half",
        "clocked_input": "arrival", "delay_impairment": "reduced",
    }  # fmt: skip
    kept = watched(worlds(cell.share.part, scenario))
    timelines = [
        {"row": s, "path_names": list(scenario.layout.path_names), **timeline(rollout.played, s)}
        for s, world in enumerate(cell.share.worlds)
        if world in kept
    ]
    delays = pair_cdfs(rollout.played, [pair for pair, _ in cell.share.worlds])
    timing = rollout.decision_us, rollout.wall_clock_s
    return content(CALL, rows(rollout.played, **identity, **cost), timing, delays, timelines, actions)
