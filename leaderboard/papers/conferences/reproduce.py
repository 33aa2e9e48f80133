"""Comparison of S2 with our results: every statement with a verdict; Celerity with `SEEDS` seeds and 95 % intervals by Student's law."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.conference.celerity import REPORT_S, UPDATE_S, Celerity
from vcgym.baselines.conference.play import Played
from vcgym.baselines.conference.reports import RATES_BYTES, STATE_BYTES
from vcgym.baselines.conference.trees import DELAY_BOUND_MS
from vcgym.leaderboard.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from vcgym.leaderboard.papers.conferences.formulas import FORMULAS
from vcgym.leaderboard.papers.conferences.measures import (
    CAPACITIES_KBPS,
    SEEDS,
    FixedPoint,
    of_course,
    planned_kbps,
    play_fixed_point,
    play_timeline,
)
from vcgym.leaderboard.papers.conferences.statements import (
    SESSIONS,
    ConferenceStatement,
    Constant,
    Course,
    Crossings,
    Exact,
    Link,
    Rate,
    load_arithmetic,
    load_statements,
)
from vcgym.leaderboard.papers.judge import REPRODUCED, WORDS
from vcgym.leaderboard.papers.verdicts import NOTHING, OUTCOME, VERDICTS, verdict_cell, verdict_row
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.student import interval
from vcgym.network.overlay.network import HEADER_BYTES
from vcgym.network.traces.plain_file import replace_file

_MODE = "dumbbell"
_CONSTANTS = {
    "header_bytes": HEADER_BYTES, "update_s": UPDATE_S, "report_s": REPORT_S, "quick_s": Celerity().quick_s, "bound_ms": DELAY_BOUND_MS,
    "update_kbps": 8e-3 * RATES_BYTES / UPDATE_S, "report_kbps": 8e-3 * STATE_BYTES / REPORT_S,
}  # fmt: skip


class Runs(NamedTuple):
    """Celerity played with each seed: on the timeline, and to its fixed point by capacity from E to F."""

    timelines: list[Played]
    fixed_points: Mapping[float, list[FixedPoint]]


def reproduce(folder: Path, on_progress: OnProgress) -> list[dict[str, Any]]:
    """Play, judge every statement, write conference_verdicts.parquet and conference_reproduction.md, and return the verdicts."""
    timelines: list[Played] = []
    fixed_points: dict[float, list[FixedPoint]] = {capacity: [] for capacity in CAPACITIES_KBPS}
    for seed in range(SEEDS):
        on_progress(seed, f"seed {seed}")
        timelines.append(play_timeline(seed))
        for capacity, found in fixed_points.items():
            found.append(play_fixed_point(capacity, seed))
    rows = [verdict(statement, Runs(timelines, fixed_points)) for statement in load_statements()]
    rows += arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "conference_verdicts.parquet")
    replace_file(folder / "conference_reproduction.md", page(rows).encode())
    return rows


def verdict(statement: ConferenceStatement, runs: Runs) -> dict[str, Any]:
    """Return the row of a statement."""
    is_input = isinstance(statement.measure, Constant)
    return verdict_row(statement, _MODE, measured(statement, runs), statement.unit, is_input=is_input)


def measured(statement: ConferenceStatement, runs: Runs) -> Estimate:
    """Return our value: exact if it is computed, else the mean over seeds."""
    match statement.measure:
        case Rate(system="celerity", from_s=from_s, to_s=to_s, session=session):
            return interval([[run.session_kbps(from_s, to_s)[SESSIONS.index(session)] for run in runs.timelines]])
        case Rate() as planned:
            return _exact(planned_kbps(planned))
        case Course(what=what):
            return interval([[of_course(what, run) for run in runs.timelines]])
        case Link(tail=tail, head=head, capacity_kbps=capacity):
            ends = SESSIONS.index(tail), SESSIONS.index(head)
            return interval([[found.queueing_ms[ends] for found in runs.fixed_points[capacity]]])
        case Crossings(session=session):
            return interval([[found.crossings[SESSIONS.index(session)] for found in runs.fixed_points[CAPACITIES_KBPS[0]]]])
        case Exact(what=what):
            return _exact(FORMULAS[what]())
        case Constant(name=name):
            return _exact(_CONSTANTS[name])
    return NOTHING


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value)


def page(rows: list[dict[str, Any]]) -> str:
    """Return Markdown with the counts of verdicts, then every statement."""
    counts = Counter(row["verdict"] for row in rows if row["origin"] == OUTCOME)
    judged = [row for row in rows if row["origin"] != ARITHMETIC]
    inputs = str(len(judged) - counts.total())
    lines = [[row["text"], row["source"], row["published"], verdict_cell(row, row["verdict"] != REPRODUCED)] for row in judged]
    headings = ("statement", "source", "published", "ours")
    return "\n".join([
        "# S2 beside ours\n", markdown_table([*WORDS, "inputs of ours"], [[*(str(counts[word]) for word in WORDS), inputs]], ()),
        markdown_table(headings, lines, headings), arithmetic_table(rows),
    ])  # fmt: skip
