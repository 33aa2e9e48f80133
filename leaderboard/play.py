"""Play systems on a suite from Python, `play("VCR-WM", suite="correlated-v0")`, or your own policy, `evaluate(model)`."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.agents.tracking.progress import progress, unseen
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.bars import references
from vcgym.leaderboard.evaluation.cells import cells
from vcgym.leaderboard.evaluation.evaluate import evaluate as play_cells
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.frozen import require_frozen_data
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.published import Entrant
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.leaderboard.report.board import ABOVE_TUNED, boards
from vcgym.leaderboard.results.files import results_of
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.kernels.ranges import one_of

FOLDER = Path("outputs") / "played"
OWN = "own"


class Evaluated(NamedTuple):
    """Result on one board, with 95 % intervals.

    Attributes:
        worlds: number of played worlds.
        value: value of the suite's ranked metric (R for calls over paths).
        to_bar: paired difference of the value to that of `bar`; None without a bar.
        bar: tuned rule that was best on the suite's validation worlds.
    """

    worlds: int
    value: Estimate
    to_bar: Estimate | None
    bar: str


def evaluate(
    policy: Any, suite: str | Suite = "default", options: Mapping[str, Any] | None = None, folder: Path | str = FOLDER, threads: int = 1,
    progress_bar: bool = False,
) -> dict[str, Evaluated]:  # fmt: skip
    """Play your own policy and the best tuned rules on a suite, and return the policy's result on each board.

    Args:
        policy: an object with SB3's `predict`, or a function from a batch of observations to actions.
        suite: see `play`.
        options: arguments of the environment, as in training; without `action` its form follows from the policy's `action_space`. Two more
            are `env_id` and `normalize`, see `vcgym.leaderboard.evaluation.own.local_agent.local_agent`.
        folder: cache of the rules' results; the policy is played every time.
        threads: see `play`.
        progress_bar: see `play`.

    Raises:
        ValueError: the suite is unknown, or the policy does not fit it or fails in play.
        DataError: see `play`.
    """
    suite = _known(suite)
    bars = references(f"{suite.name}-{suite.version}")
    agent = local_agent(policy, suite, prepare(suite), options)
    found = boards(play(*bars, suite=suite, named={OWN: agent}, folder=folder, threads=threads, progress_bar=progress_bar))
    return {
        board.mode: Evaluated(board.worlds, line.found[board.columns.ranked_by], line.found.get(ABOVE_TUNED), board.bar.system)
        for board in found
        for line in board.lines
        if line.system == OWN
    }


def play(
    *systems: str, suite: str | Suite = "default", named: Mapping[str, Entrant] | None = None, folder: Path | str = FOLDER,
    threads: int = 1, workers: int = 0, progress_bar: bool = False,
) -> pa.Table:  # fmt: skip
    """Play systems on the worlds of a suite and return their result rows, one per system and world.

    Earlier results are read from `folder`. Parts of the suite whose measured data are missing are left out.

    Args:
        *systems: names (`vcgym.baselines.system_files.system_names`).
        suite: key of `vcgym.leaderboard.evaluation.suites.SUITES`, or your own suite.
        named: your own systems or agents by name.
        folder: cache of results.
        threads: threads of this process that share the calls, without Ray; no effect on the rows.
        workers: number of processes of a local Ray, or 0; no effect on the rows.
        progress_bar: show how many parts are done, as in Stable-Baselines3; without a terminal as lines.

    Raises:
        ValueError: a system or suite is unknown, there is no system, one has other controls than the suite, or an agent failed.
        DataError: measured data are broken, or differ from those on which the suite is frozen.
    """
    players: dict[str, Entrant] = {name: load_system(name) for name in systems}
    players |= {name: one.replace(is_local=True) if isinstance(one, System) else one for name, one in (named or {}).items()}
    if not players:
        raise ValueError("systems is empty; allowed: at least one name or one system of your own")
    suite = _known(suite)
    parts = prepare(suite)
    require_frozen_data(suite, parts)
    planned = plan(suite, parts, players)
    shown = progress(f"suite {suite.name}-{suite.version}: parts done", len(planned)) if progress_bar else nullcontext(unseen)
    with shown as on_progress:
        played = play_cells(planned, Path(folder) / cells.FOLDER, on_progress, threads, workers)
    for cell, table in played:
        if reason := cells.failure_of(table):
            raise ValueError(f"{cell.name} {reason}")
    names = results_of(suite.columns).schema.names
    return pa.concat_tables(table.select(names) for _, table in played)


def _known(suite: str | Suite) -> Suite:
    if isinstance(suite, str):
        one_of("suite", suite, tuple(SUITES))
        return SUITES[suite]
    return suite
