"""Statements of the application study (S3), as data: `lab/papers/data/published_applications.json`, read and checked.

Statements to which a profile was fitted are marked; they are then calibrated and do not count.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from lab.papers.applications.experiments import COMPETITORS, ExperimentCell, Setup, Way
from lab.papers.applications.profile import Viewing, load_profile
from lab.papers.arithmetic import Arithmetic
from lab.papers.register import Register, load_document
from lab.papers.statements import Statement, StatementRecord

FILE = "published_applications.json"
Metric = Literal[
    "mbps", "other_mbps", "smaller_mbps", "settled_mbps", "other_settled_mbps", "utilisation", "recovery_s", "peak", "stable_s"
]  # fmt: skip


class Term(StatementRecord):
    """Weighted metric of an application over levels of a set-up.

    Attributes:
        weight: factor.
        setup: kind of experiment.
        way: shaped direction.
        application: measured application.
        levels_mbps: levels of the shaper, or of the drop.
        over: aggregation over the levels.
        metric: see `lab.papers.applications.measures`.
        against: competitor.
        viewing: view of the other parties.
        parties: number of parties in the call.
    """

    weight: float = 1.0
    setup: Setup
    way: Way
    application: Literal["zoom", "meet", "teams"]
    levels_mbps: Annotated[tuple[Annotated[float, Field(ge=0.01, le=1000.0)], ...], Field(min_length=1)]
    over: Literal["mean", "min", "max"] = "mean"
    metric: Metric
    against: str = ""
    viewing: Viewing = "speaker"
    parties: int = 2

    @model_validator(mode="after")
    def _can_be_played(self) -> "Term":
        if (self.against in COMPETITORS) != (self.setup == "competing"):
            raise ValueError(f"against is {self.against!r} in set-up {self.setup!r}; allowed: when competing, {', '.join(COMPETITORS)}")
        load_profile(self.application).nominal_kbps(self.viewing, self.parties)
        return self

    def cells(self, queue_ms: float) -> Iterator[ExperimentCell]:
        """Yield the experiments of the term."""
        for mbps in self.levels_mbps:
            yield ExperimentCell(self.setup, self.way, self.application, mbps, self.against, self.viewing, self.parties, queue_ms)


class ApplicationStatement(Statement):
    """Statement of S3.

    Attributes:
        fitted: true if a number of a profile was fitted to it, or chosen for it.
        terms: our value is the sum of these terms.
        unit: unit of our value; % is shown times 100.
    """

    fitted: bool = False
    terms: tuple[Term, ...] = ()
    unit: Literal["%", "points", "Mbit/s", "s", ""] = ""


Statements = Register[ApplicationStatement]


def load_statements() -> tuple[ApplicationStatement, ...]:
    """Return all statements, in the order of the file."""
    return load_document(Statements, FILE).statements


def load_arithmetic() -> tuple[Arithmetic, ...]:
    """Return the checks of the printed numbers against each other."""
    return load_document(Statements, FILE).arithmetic
