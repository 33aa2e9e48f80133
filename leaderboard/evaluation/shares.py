"""Play several systems on one share of worlds: the piece of work that one process does, here or on another machine."""

import os
import platform
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from vcgym.leaderboard.evaluation.cells import Cell, Share, content
from vcgym.leaderboard.evaluation.cost import effort, kind, tuning_trials
from vcgym.leaderboard.evaluation.published import AGENT_ENV
from vcgym.leaderboard.evaluation.rollout import Rollout, RulePair, play_policy, play_rules_together
from vcgym.leaderboard.evaluation.suites import worlds
from vcgym.leaderboard.results.cdf import pair_cdfs
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.timeline import timeline, watched
from vcgym.leaderboard.submissions.actions import Recorded
from vcgym.network.scenarios.scenario import Scenario


def play_cells(piece: Mapping[str, Cell], threads: int = 1) -> list[tuple[str, bytes]]:
    """Return name and content of the file of each cell; rules play together, so that each world is drawn once for them.

    Args:
        piece: cells of one share by the names of their files.
        threads: how many threads share the sessions; without effect on the results.

    Raises:
        ValueError: this process has other code, or other data, than the one that planned them.
    """
    for file, cell in piece.items():
        if cell.file != file:
            raise ValueError(f"file of {cell.name} is {cell.file} on this worker, {file} in the run; allowed: the same code and packages")
    share = next(iter(piece.values())).share
    scenario = _scenario(share.part.scenario, share.part.mode, share.packets)
    if scenario.layout.card != share.card:
        raise ValueError(f"data of {share.part.scenario} on this worker has hash {scenario.layout.card}, the run's is {share.card}")
    return [(played.file, _content(played, scenario)) for played in _rollouts(piece, scenario, threads)]


@lru_cache(maxsize=4)
def _scenario(name: str, mode: str, packets: int) -> Scenario:
    return Scenario(name, mode, packets)


class _Done(NamedTuple):
    """A played cell; `actions` (sessions, decisions, 2) of a policy, none of a rule, which its name and parameters fix."""

    file: str
    cell: Cell
    rollout: Rollout
    effort: dict[str, int]
    actions: list[Any]


def _rollouts(piece: Mapping[str, Cell], scenario: Scenario, threads: int) -> Iterator[_Done]:
    share = next(iter(piece.values())).share
    part, which = share.part, list(share.worlds)
    rules = {file: cell.system for file, cell in piece.items() if isinstance(cell.system, RulePair)}
    together = play_rules_together(list(rules.values()), scenario, part.split, which, threads, part.stratum)
    for (file, pair), rollout in zip(rules.items(), together, strict=True):
        yield _Done(file, piece[file], rollout, effort(pair, tuning_trials(piece[file].name)), [])
    for file, cell in piece.items():
        if not isinstance(cell.system, RulePair):
            policy = cell.system.policy()
            recorded = Recorded(policy)
            rollout = play_policy(recorded, AGENT_ENV, scenario, part.split, which, threads, part.stratum)
            yield _Done(file, cell, rollout, effort(policy), recorded.actions.tolist())


def _content(played: _Done, scenario: Scenario) -> bytes:
    cell, rollout = played.cell, played.rollout
    timing = {
        "decision_us": rollout.decision_us, "wall_clock_s": rollout.wall_clock_s, "calls": len(rollout.strata),
        "hardware": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
    }  # fmt: skip
    delays = {
        pair: {name: {"packets_within": cdf.packets_within.tolist(), "packets_sent": cdf.packets_sent} for name, cdf in cdfs.items()}
        for pair, cdfs in pair_cdfs(rollout.played, [pair for pair, _ in cell.share.worlds]).items()
    }
    kept = watched(worlds(cell.share.part, scenario))
    timelines = [
        {"row": s, "path_names": list(scenario.layout.path_names), **timeline(rollout.played, s)}
        for s, world in enumerate(cell.share.worlds)
        if world in kept
    ]
    more = {"timing": timing, "delays": delays, "timelines": timelines, "actions": played.actions}
    return content(rows(rollout.played, **_identity(cell, scenario, rollout), **played.effort), more)


def _identity(cell: Cell, scenario: Scenario, rollout: Rollout) -> dict[str, Any]:
    share: Share = cell.share
    return {
        "system": cell.name,
        "kind": kind(cell.system, tuning_trials(cell.name)),
        "suite": share.suite,
        "suite_version": share.version,
        "mode": share.part.mode,
        "scenario": share.part.scenario,
        "stratum": rollout.strata,
        "split": share.part.split,
        "pair": [pair for pair, _ in share.worlds],
        "seed": [seed for _, seed in share.worlds],
        "card": share.card,
        "env": AGENT_ENV,
        "packets": share.packets,
        "latency_from_rtt": "full" if scenario.share_of_rtt == 1.0 else "half",
        "clocked_input": "arrival",
        "delay_impairment": "reduced",
    }
