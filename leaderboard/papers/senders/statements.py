"""Statements of S1 (SBPN) and S4 (GCC over Wi-Fi), as data: `vcgym.data/published_sending.json`, read and checked.

S1 tells its results in words and pictures: orderings, and one size. A statement is measured as a weighted sum of means, run by run paired,
and judged by the rule that stands with it (`vcgym.leaderboard.papers.judge`).
"""

import importlib.resources
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from vcgym.leaderboard.papers.statements import Record, Statement, each_once
from vcgym.leaderboard.results.sender_columns import RATE
from vcgym.network.traces.cards import Carded, parse_carded

FILE = "published_sending.json"


class Term(Record):
    """Mean of a metric of a sender on worlds of a kind, times a weight."""

    weight: float = 1.0
    sender: str
    metric: str
    kind: str = ""

    @model_validator(mode="after")
    def _is_known(self) -> "Term":
        if self.metric not in RATE.metric:
            raise ValueError(f"metric is {self.metric!r}; allowed: {', '.join(RATE.metric)}")
        return self


class SendingStatement(Statement):
    """Statement of S1 or S4.

    Attributes:
        setting: which settings it is looked at in: S1's two TCP flows, its random loss, S4's Wi-Fi, or none.
        terms: whose weighted sum is ours.
        share_of: divided by the mean of this term.
        constant: an input of ours that the paper prints too; reproduced by construction.
        unit: of ours; % is shown times 100.
    """

    setting: Literal["tcp", "loss", "wifi", "none"]
    terms: tuple[Term, ...] = ()
    share_of: Term | None = None
    constant: Literal["", "expiry_ms", "loss_low", "loss_high", "encoder_kbps"] = ""
    unit: Literal["%", "points", "ms", ""] = ""


class Statements(Carded):
    """The file: a card and the statements."""

    statements: Annotated[tuple[SendingStatement, ...], Field(min_length=1), AfterValidator(each_once)]


def load_statements() -> tuple[SendingStatement, ...]:
    """Return all statements, in the order of the file."""
    return parse_statements(importlib.resources.files("vcgym.data").joinpath(FILE).read_text(encoding="utf-8")).statements


def parse_statements(text: str) -> Statements:
    """Validate the JSON text of the file.

    Raises:
        DataError: a field that is wrong, or content that does not match the card's hash.
    """
    return parse_carded(Statements, FILE, text)
