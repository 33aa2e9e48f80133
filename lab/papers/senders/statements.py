"""Statements of S1 (SBPN) and S4 (GCC over Wi-Fi), as data: `lab/papers/data/published_sending.json`, read and checked.

S1 gives its results as text and pictures: orderings, and one size. A statement is measured as a weighted sum of means over paired runs, and
judged by its rule (`lab.papers.judge`).
"""

from typing import Literal

from pydantic import model_validator

from lab.papers.arithmetic import Arithmetic, Register, load_document
from lab.papers.statements import Statement, StatementRecord
from vcgym.leaderboard.results.kinds import RATE

FILE = "published_sending.json"


class SenderTerm(StatementRecord):
    """Weighted mean of a metric of a sender on worlds of a kind."""

    weight: float = 1.0
    sender: str
    metric: str
    kind: str = ""

    @model_validator(mode="after")
    def _is_known(self) -> "SenderTerm":
        if self.metric not in RATE.metric:
            raise ValueError(f"metric is {self.metric!r}; allowed: {', '.join(RATE.metric)}")
        return self


class SendingStatement(Statement):
    """Statement of S1 or S4.

    Attributes:
        setting: settings of the test: S1's two TCP flows, its random loss, S4's Wi-Fi, or none.
        terms: our value is the sum of these terms.
        share_of: term by whose mean the sum is divided.
        constant: one of our inputs that the paper states too; reproduced by construction.
        unit: unit of our value; % is shown times 100.
    """

    setting: Literal["tcp", "loss", "wifi", "none"]
    terms: tuple[SenderTerm, ...] = ()
    share_of: SenderTerm | None = None
    constant: Literal["", "expiry_ms", "loss_low", "loss_high", "encoder_kbps"] = ""
    unit: Literal["%", "points", "ms", ""] = ""


Statements = Register[SendingStatement]


def load_statements() -> tuple[SendingStatement, ...]:
    """Return all statements, in the order of the file."""
    return load_document(Statements, FILE).statements


def load_arithmetic() -> tuple[Arithmetic, ...]:
    """Return the checks of the printed numbers against each other."""
    return load_document(Statements, FILE).arithmetic
