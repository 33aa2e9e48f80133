"""Experiments for statements of S3 that are reproduced with neither queue: one changed setting at a time, the first that makes it hold.

Tried in this order: another queue of the shaper; one of the levels instead of all; when competing, another of S3's levels, except for a
rate that is printed for one level.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lab.papers.applications.calls import Played, play_cell
from lab.papers.applications.experiments import QUEUES_MS, Cell
from lab.papers.applications.measures import measured
from lab.papers.applications.statements import ApplicationStatement
from lab.papers.causes import READING, WORLD, Cause, Experiment, first_that_holds
from vcgym.leaderboard.statistics import Estimate

OTHER_QUEUES_MS = (50.0, 75.0, 200.0, 500.0, 1000.0)
OTHER_LEVELS_MBPS = (2.0, 1.0, 5.0)


class Change(NamedTuple):
    """Changed setting: its kind, its name, and the statement and queue with it."""

    cause: Cause
    name: str
    statement: ApplicationStatement
    queue_ms: float


def changes(statement: ApplicationStatement) -> Iterator[Change]:
    """Yield the changes to try for a statement."""
    for queue_ms in OTHER_QUEUES_MS:
        yield Change(WORLD, f"a queue of {queue_ms:g} ms", statement, queue_ms)
    levels = statement.terms[0].levels_mbps
    if len(levels) > 1:
        for mbps in levels:
            yield Change(READING, f"only at {mbps:g} Mbit/s", _at(statement, mbps), QUEUES_MS[0])
    elif statement.terms[0].setup == "competing" and statement.rule != "within":
        for mbps in OTHER_LEVELS_MBPS:
            yield Change(WORLD, f"a link of {mbps:g} Mbit/s", _at(statement, mbps), QUEUES_MS[0])


def _at(statement: ApplicationStatement, mbps: float) -> ApplicationStatement:
    terms = tuple(term.model_copy(update={"levels_mbps": (mbps,)}) for term in statement.terms)
    return statement.model_copy(update={"terms": terms})


def experiments(statements: Iterable[ApplicationStatement], played: dict[Cell, Played]) -> Iterator[Experiment]:
    """Yield an experiment per statement; `played` gets the calls that had to be played."""
    for statement in statements:
        tried = ((change.cause, change.name, _measured(change, played)) for change in changes(statement))
        yield first_that_holds(statement, statement.unit, tried)


def _measured(change: Change, played: dict[Cell, Played]) -> Estimate:
    for cell in {cell for term in change.statement.terms for cell in term.cells(change.queue_ms)} - played.keys():
        played[cell] = play_cell(cell)
    return measured(change.statement, played, change.queue_ms)
