"""Comparison of S3 with our results: every statement with two sizes of the shaper's queue, which S3 does not state, with a verdict.

If a profile was fitted to a statement and our value agrees, the verdict is "calibrated" and does not count: shares are of predicted
statements.

For statements that are reproduced with neither queue, one setting at a time is changed, until one holds: another queue of the shaper; one
of the levels instead of all; when competing, another of S3's levels, except for a rate that is printed for one level.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lab.papers.applications.calls import PlayedCells, play_cell
from lab.papers.applications.experiments import QUEUES_MS, ExperimentCell
from lab.papers.applications.measures import measured
from lab.papers.applications.statements import ApplicationStatement, load_arithmetic, load_statements
from lab.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from lab.papers.causes import READING, WORLD, Cause, Experiment, causes_table, first_that_holds, never_held, shares_table, with_causes
from lab.papers.judge import REPRODUCED, judge
from lab.papers.verdicts import OUTCOME, VERDICTS, verdict_cell, verdict_row
from vcgym.agents.tracking.progress import OnProgress
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.traces.plain_file import replace_file

OTHER_QUEUES_MS = (50.0, 75.0, 200.0, 500.0, 1000.0)
OTHER_LEVELS_MBPS = (2.0, 1.0, 5.0)


class ChangedSetting(NamedTuple):
    """Changed setting: its kind, its name, and the statement and queue with it."""

    cause: Cause
    name: str
    statement: ApplicationStatement
    queue_ms: float


def changes(statement: ApplicationStatement) -> Iterator[ChangedSetting]:
    """Yield the changes to try for a statement."""
    for queue_ms in OTHER_QUEUES_MS:
        yield ChangedSetting(WORLD, f"a queue of {queue_ms:g} ms", statement, queue_ms)
    levels = statement.terms[0].levels_mbps
    if len(levels) > 1:
        for mbps in levels:
            yield ChangedSetting(READING, f"only at {mbps:g} Mbit/s", _at(statement, mbps), QUEUES_MS[0])
    elif statement.terms[0].setup == "competing" and statement.rule != "within":
        for mbps in OTHER_LEVELS_MBPS:
            yield ChangedSetting(WORLD, f"a link of {mbps:g} Mbit/s", _at(statement, mbps), QUEUES_MS[0])


def _at(statement: ApplicationStatement, mbps: float) -> ApplicationStatement:
    terms = tuple(term.model_copy(update={"levels_mbps": (mbps,)}) for term in statement.terms)
    return statement.model_copy(update={"terms": terms})


def experiments(statements: Iterable[ApplicationStatement], played: dict[ExperimentCell, PlayedCells]) -> Iterator[Experiment]:
    """Yield an experiment per statement; `played` gets the calls that had to be played."""
    for statement in statements:
        tried = ((change.cause, change.name, _measured(change, played)) for change in changes(statement))
        yield first_that_holds(statement, statement.unit, tried)


def _measured(change: ChangedSetting, played: dict[ExperimentCell, PlayedCells]) -> Estimate:
    for cell in {cell for term in change.statement.terms for cell in term.cells(change.queue_ms)} - played.keys():
        played[cell] = play_cell(cell)
    return measured(change.statement, played, change.queue_ms)


CALIBRATED = "calibrated"


def cells_of(statements: Iterable[ApplicationStatement]) -> list[ExperimentCell]:
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
    on_progress(len(played), "experiments for what is not reproduced")
    tried = experiments([statement for statement in statements if statement.id in never_held(rows)], played)
    rows = with_causes(rows, statements, load_arithmetic(), tried) + arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "application_verdicts.parquet")
    replace_file(folder / "application_reproduction.md", page(rows).encode())
    return rows


def steps() -> int:
    """Return the number of progress reports of `reproduce`."""
    return len(cells_of(load_statements())) + 1


def verdict(statement: ApplicationStatement, played: Mapping[ExperimentCell, PlayedCells], queue_ms: float) -> dict[str, Any]:
    """Return the row of a statement for one size of the shaper's queue."""
    ours = measured(statement, played, queue_ms)
    word, reason = judge(statement, ours)
    calibrated = (CALIBRATED, reason) if statement.fitted and word == REPRODUCED else None
    return verdict_row(statement, f"{queue_ms:g} ms", ours, statement.unit, is_input=statement.fitted, cannot=calibrated)


def page(rows: list[dict[str, Any]]) -> str:
    """Return Markdown with the calibrated and predicted shares, then every statement."""
    judged = [row for row in rows if row["origin"] != ARITHMETIC]
    queues = list(dict.fromkeys(row["mode"] for row in judged))
    fitted = Counter((row["mode"], row["verdict"] == CALIBRATED) for row in judged if row["origin"] != OUTCOME)
    calibrated = [[queue, str(fitted[queue, True]), str(fitted[queue, False])] for queue in queues]
    lines: dict[str, list[str]] = {}
    for row in judged:
        line = lines.setdefault(row["statement"], [f"{row['text']} ({row['source']})", row["published"]])
        line.append(verdict_cell(row, row["verdict"] not in (REPRODUCED, CALIBRATED)))
    table = markdown_table(["statement", "published", *queues], lines.values(), ("statement", "published", *queues))
    return "\n".join([
        "# S3 beside ours\n", markdown_table(["queue", CALIBRATED, "fitted and missed"], calibrated, ("queue",)),
        "Predicted:\n", shares_table(judged, lambda row: str(row["mode"])), table, causes_table(judged), arithmetic_table(rows),
    ])  # fmt: skip
