"""Statements of Celerity's paper (S2), as data: `lab/papers/data/published_conferences.json`, read and checked."""

from typing import Annotated, Literal

from pydantic import Field

from lab.papers.arithmetic import Arithmetic, Register, load_document
from lab.papers.statements import NotComparable, Statement, StatementRecord

FILE = "published_conferences.json"
SESSIONS = "ABCD"


class SessionRate(StatementRecord):
    """Rate of a session of the dumbbell in kbit/s: of an allocation computed for second `from_s`, or of Celerity between two seconds."""

    of: Literal["rate"]
    system: Literal["celerity", "optimum", "optimum of three hops", "mutualcast", "simulcast"]
    session: Literal["A", "B", "C", "D"]
    from_s: Annotated[int, Field(ge=0, le=1000)]
    to_s: Annotated[int, Field(ge=0, le=1000)]


class CourseFigure(StatementRecord):
    """Number about the whole timeline of Celerity on the dumbbell; see `lab.papers.conferences.measures`."""

    of: Literal["course"]
    what: Literal["settled_s", "mean_delay_ms", "p99_delay_ms", "lost", "overhead"]


class MeasuredQueueing(StatementRecord):
    """Mean queueing in ms that Celerity measures with delta near 0, from `tail` to `head`, with `capacity_kbps` from E to F."""

    of: Literal["link"]
    tail: Literal["A", "C"]
    head: Literal["A", "C"]
    capacity_kbps: Annotated[float, Field(ge=100.0, le=1000.0)]


class Crossings(StatementRecord):
    """Copies of a packet of a session that pass from E to F on Celerity's trees, mean over trees and time."""

    of: Literal["crossings"]
    session: Literal["A", "B"]


class Exact(StatementRecord):
    """Number about the formulas; see `lab.papers.conferences.reproduce`."""

    of: Literal["exact"]
    what: Literal["ring_bound", "ring_trees", "concavity", "subgradient", "delay_bound"]


class PrintedConstant(StatementRecord):
    """Constant of ours that the paper prints; reproduced by construction."""

    of: Literal["constant"]
    name: Literal["header_bytes", "update_s", "report_s", "quick_s", "bound_ms", "update_kbps", "report_kbps"]


class ConferenceStatement(Statement):
    """Statement of S2.

    Attributes:
        measure: measure of our value.
        unit: unit of our value; % is shown times 100.
    """

    measure: Annotated[
        SessionRate | CourseFigure | MeasuredQueueing | Crossings | Exact | PrintedConstant | NotComparable, Field(discriminator="of")
    ]
    unit: Literal["%", "kbit/s", "ms", "s", "bytes", ""] = ""


Statements = Register[ConferenceStatement]


def load_statements() -> tuple[ConferenceStatement, ...]:
    """Return all statements, in the order of the file."""
    return load_document(Statements, FILE).statements


def load_arithmetic() -> tuple[Arithmetic, ...]:
    """Return the checks of the printed numbers against each other."""
    return load_document(Statements, FILE).arithmetic
