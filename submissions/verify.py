"""Verification of the scores of agents: every logged call is replayed from its actions alone, and its result row is recomputed.

Agents whose decisions are made inside the loop log none: those that ship, and those that are given again, are played again.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.controls.control import LOGGED
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import load_system
from vcgym.envs.environments.vector.actions import action_counts
from vcgym.leaderboard.evaluation.cells.playing import play_here
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import AGENT_ENV, AGENT_KINDS, LOGGED_FORM, Entrant, LocalAgent, held_by, is_beside
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.columns import WORLD, Column
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.refusal import shown

AGENT = "agent"  # kind of all rows of the log
NO_WORLD = "no world of the suite, or one whose data are not here"
UNKNOWN = "logs no decisions and does not ship; agents.NAME=... as in the run, or its train keys, play it again"
"""Reason why the rows of an agent cannot be verified."""
TOLERANCE = 1e-9  # for floats, across platforms; integers and strings must be equal

WorldKey = tuple[Any, ...]


class Replayed:
    """Policy that replays a log, whatever it observes.

    Args:
        actions: (sessions, decisions, controls), see `vcgym.leaderboard.evaluation.kinds.paths.Recorded`.
    """

    reads = "features"

    def __init__(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Return the next actions of the log; `state` counts the decisions.

        Raises:
            ValueError: the log has no more decisions.
        """
        decision = state or 0
        if decision == self._actions.shape[1]:
            raise ValueError(f"the log has {decision} decisions for each call; allowed: one for each time the policy is asked")
        actions = self._actions[:, decision]
        return actions if actions.shape[1] > 1 else actions[:, 0], decision + 1


class Verdict(NamedTuple):
    """Outcome of the replay of one result row.

    `said` names the columns that differ, or another fault; if the row cannot be replayed, `checked` is false and `said` says why.
    """

    system: str
    world: WorldKey
    equal: bool
    said: str
    checked: bool = True


def verify(
    folder: Path, on_progress: OnProgress, own: Sequence[Suite] = (), known: Mapping[str, Entrant] = MappingProxyType({}),
    threads: int = 1,
) -> list[Verdict]:  # fmt: skip
    """Replay `actions.parquet`, or play agents again, and compare with `results.parquet`, both in `folder`.

    Args:
        folder: folder of a finished run.
        on_progress: called with the number of replayed calls and the agent.
        own: suites of the user's own traces that the run may have played.
        known: agents that do not ship, by their names on the board.
        threads: threads that share the calls; no effect on the result.

    Returns:
        One verdict for each agent and world of the log, of the results or of the suite.

    Raises:
        FileNotFoundError, ValueError: a file is missing, malformed or of an unknown suite, or the data differ.
    """
    log = results.read(results.ACTIONS, folder / "actions.parquet").to_pylist()
    claimed = results.read_results(folder / "results.parquet").to_pylist()
    suite = _suite(log, claimed, [*SUITES.values(), *own])
    found: list[Verdict] = []
    for name in sorted({row["system"] for row in (*log, *claimed) if row.get("kind", AGENT) in AGENT_KINDS}):
        logged, of_results = ({_world(row): row for row in rows if row["system"] == name} for rows in (log, claimed))
        if logged or suite is None:
            made = _replayed(suite, logged, name, len(found), on_progress)
            found += _verdicts(name, made, of_results, CALL.metrics)
        elif (player := known.get(name) or (load_system(name) if name in system_names() else None)) is not None:
            played: dict[WorldKey, dict[str, Any] | str] = {}
            for cell in plan(suite, prepare(suite), {name: player}):
                played |= {_world(row): row for row in play_here(cell, threads).to_pylist()}
                on_progress(len(found) + len(played), name)
            found += _verdicts(name, played, of_results, suite.columns.metrics)
        else:
            found += [Verdict(name, world, False, UNKNOWN, checked=False) for world in sorted(of_results)]
    return found


def _verdicts(
    name: str, made: Mapping[WorldKey, dict[str, Any] | str], claimed: Mapping[WorldKey, dict[str, Any]], metrics: Iterable[Column]
) -> Iterator[Verdict]:  # fmt: skip
    """Compare the rows that were made again, or the reasons why there are none, with those of the results."""
    for world in sorted({*claimed, *made}):
        row = made.get(world, NO_WORLD)
        if isinstance(row, str):
            yield Verdict(name, world, False, row)
        elif world not in claimed:
            yield Verdict(name, world, False, "no row of results")
        else:
            differs = [one.name for one in metrics if not _equal(row[one.name], claimed[world][one.name])]
            yield Verdict(name, world, not differs, ", ".join(differs))


def _suite(log: Sequence[dict[str, Any]], claimed: Sequence[dict[str, Any]], suites: Iterable[Suite]) -> Suite | None:
    rows = log or claimed
    named = {(row["suite"], row["suite_version"], row.get("packets", 0)) for row in rows}
    if not named:
        return None
    splits = {row["split"] for row in rows}
    known = {(suite.name, suite.version, suite.packets): suite for suite in suites if {part.split for part in suite.parts} == splits}
    if len(named) != 1 or not named <= known.keys():
        file = "actions.parquet" if log else "results.parquet"
        allowed = f"one of {sorted(known)}" if known else "own traces, with suite=, traces=, packets= and split= of the run"
        raise ValueError(f"{file} is of suites (name, version, packets) {sorted(named)}; allowed: {allowed}")
    return known[named.pop()]


def _world(row: dict[str, Any]) -> WorldKey:
    return tuple(row[name] for name in WORLD)


def _replayed(
    suite: Suite | None, log: dict[WorldKey, dict[str, Any]], name: str, before: int, on_progress: OnProgress
) -> dict[WorldKey, dict[str, Any] | str]:  # fmt: skip
    """Return for each world of the suite or the log its row of metrics, or the reason why there is none."""
    replayed: dict[WorldKey, dict[str, Any] | str] = {}
    for part, scenario in prepare(suite) if suite else ():
        replayed |= _replay(part, scenario, log)
        on_progress(before + len(replayed), name)
    return dict.fromkeys(log, NO_WORLD) | replayed


def _replay(part: Part, scenario: Scenario, log: dict[WorldKey, dict[str, Any]]) -> dict[WorldKey, dict[str, Any] | str]:
    which = PATHS.worlds(part, scenario)  # only calls over paths have logs
    strata = [draw.stratum for draw in PATHS.draw(part, scenario, which)]
    names = [(part.mode, part.scenario, stratum, part.split, *world) for world, stratum in zip(which, strata, strict=True)]
    found: dict[WorldKey, dict[str, Any] | str] = {name: _fault(log.get(name), scenario) for name in names}
    sound = [number for number, name in enumerate(names) if not found[name]]
    by_controls: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number in sound:
        row = log[names[number]]
        by_controls.setdefault((row["rule"], _acted(row)), []).append(number)
    for (rule, acted), numbers in by_controls.items():
        logged = [[log[names[number]][column] for column in acted] for number in numbers]
        policy = Replayed(np.array(logged, np.int64).transpose(0, 2, 1))
        others = [argument for column, control in LOGGED.items() if column not in acted for argument in held_by(control, rule)]
        agent = LocalAgent(OwnPolicy(policy), AGENT_ENV, (*LOGGED_FORM.items(), *others))
        played = PATHS.play_policy(agent, policy, part, scenario, [which[number] for number in numbers]).calls
        found |= {names[number]: row for number, row in zip(numbers, rows(played), strict=True)}
    return found


def _acted(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns of the controls that an agent set; without a rule it set all."""
    return tuple(column for column in LOGGED if row[column] or not row["rule"])


def _fault(row: dict[str, Any] | None, scenario: Scenario) -> str:
    """Return the reason why a logged call cannot be replayed; empty if there is none."""
    if row is None:
        return "no actions in the log"
    if row["env"] != AGENT_ENV or row["card"] != scenario.layout.card:
        return f"made in {row['env']} on data {row['card'][:12]}; here they are {AGENT_ENV} and {scenario.layout.card[:12]}"
    decisions = -(-scenario.packets // LOGGED_FORM["interval"])
    if row["rule"] and (not is_beside(row["rule"]) or len(_acted(row)) in (0, len(LOGGED))):
        return f"rule of the log is {shown(row['rule'])} beside {_acted(row)}; allowed: a system over paths, beside one control"
    counts = action_counts(LOGGED.values(), scenario.paths)
    for name in _acted(row):
        largest = counts[LOGGED[name]] - 1
        if len(row[name]) != decisions or not 0 <= min(row[name]) <= max(row[name]) <= largest:
            return f"{name} of the log is not {decisions} integers from 0 to {largest}"
    return ""


def _equal(made: Any, claimed: Any) -> bool:
    if claimed is None:  # results older than the column claim nothing
        return True
    if isinstance(made, float) and isinstance(claimed, float):
        return (math.isnan(made) and math.isnan(claimed)) or math.isclose(made, claimed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(made == claimed)
