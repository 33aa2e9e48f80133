"""Comparison of S3 with our results: every statement with two sizes of the shaper's queue, which S3 does not state, with a verdict.

If a profile was fitted to a statement and our value agrees, the verdict is "calibrated" and does not count: shares are of predicted
statements.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.agents.tracking.progress import OnProgress
from vcgym.leaderboard.papers.applications.calls import Played, play_cell
from vcgym.leaderboard.papers.applications.experiments import QUEUES_MS, Cell
from vcgym.leaderboard.papers.applications.measures import measure
from vcgym.leaderboard.papers.applications.statements import ApplicationStatement, Term, load_arithmetic, load_statements
from vcgym.leaderboard.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from vcgym.leaderboard.papers.judge import REPRODUCED, WORDS, judge
from vcgym.leaderboard.papers.verdicts import NOTHING, OUTCOME, VERDICTS, verdict_cell, verdict_row
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.student import interval
from vcgym.network.traces.plain_file import replace_file

CALIBRATED = "calibrated"


def cells_of(statements: Iterable[ApplicationStatement]) -> list[Cell]:
    """Return the experiments of the statements, without duplicates."""
    return list(dict.fromkeys(cell for one in statements for term in one.terms for queue_ms in QUEUES_MS for cell in term.cells(queue_ms)))


def reproduce(folder: Path, on_progress: OnProgress) -> list[dict[str, Any]]:
    """Play, judge every statement, write application_verdicts.parquet and application_reproduction.md, and return the verdicts."""
    statements = load_statements()
    played = {}
    for done, cell in enumerate(cells_of(statements)):
        on_progress(done, f"{cell.application}, {cell.setup} {cell.way}, {cell.mbps:g} Mbit/s")
        played[cell] = play_cell(cell)
    rows = [verdict(statement, played, queue_ms) for queue_ms in QUEUES_MS for statement in statements]
    rows += arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "application_verdicts.parquet")
    replace_file(folder / "application_reproduction.md", page(rows).encode())
    return rows


def steps() -> int:
    """Return the number of progress reports of `reproduce`."""
    return len(cells_of(load_statements()))


def verdict(statement: ApplicationStatement, played: Mapping[Cell, Played], queue_ms: float) -> dict[str, Any]:
    """Return the row of a statement for one size of the shaper's queue."""
    ours = measured(statement, played, queue_ms)
    word, reason = judge(statement, ours)
    calibrated = (CALIBRATED, reason) if statement.fitted and word == REPRODUCED else None
    return verdict_row(statement, f"{queue_ms:g} ms", ours, statement.unit, is_input=statement.fitted, cannot=calibrated)


def measured(statement: ApplicationStatement, played: Mapping[Cell, Played], queue_ms: float) -> Estimate:
    """Return our value: the weighted sum of the terms per repeat."""
    if not statement.terms:
        return NOTHING
    return interval([np.sum([term.weight * _values(term, played, queue_ms) for term in statement.terms], axis=0)])


def _values(term: Term, played: Mapping[Cell, Played], queue_ms: float) -> np.ndarray:
    of_levels = [measure(term.metric, cell, played[cell]) for cell in term.cells(queue_ms)]
    return np.asarray(getattr(np, term.over)(of_levels, axis=0))


def page(rows: list[dict[str, Any]]) -> str:
    """Return Markdown with the calibrated and predicted shares, then every statement."""
    judged = [row for row in rows if row["origin"] != ARITHMETIC]
    queues = list(dict.fromkeys(row["mode"] for row in judged))
    counts = []
    for queue in queues:
        of_queue = [row for row in judged if row["mode"] == queue]
        predicted = Counter(row["verdict"] for row in of_queue if row["origin"] == OUTCOME)
        fitted = Counter(row["verdict"] for row in of_queue if row["origin"] != OUTCOME)
        missed = sum(fitted.values()) - fitted[CALIBRATED]
        total = predicted.total() - predicted[WORDS[2]]
        share = f"{100.0 * predicted[REPRODUCED] / total:.0f} %" if total else ""
        counts.append([queue, *map(str, (fitted[CALIBRATED], missed, *(predicted[word] for word in WORDS))), share])
    share_of = "reproduced, of the predicted that can be judged"
    headings = ["queue", CALIBRATED, "fitted and missed", *(f"predicted: {word}" for word in WORDS), share_of]
    lines: dict[str, list[str]] = {}
    for row in judged:
        line = lines.setdefault(row["statement"], [f"{row['text']} ({row['source']})", row["published"]])
        line.append(verdict_cell(row, row["verdict"] not in (REPRODUCED, CALIBRATED)))
    table = markdown_table(["statement", "published", *queues], lines.values(), ("statement", "published", *queues))
    return "\n".join(["# S3 beside ours\n", markdown_table(headings, counts, ("queue",)), table, arithmetic_table(rows)])
