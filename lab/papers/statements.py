"""A statement of a paper: one published number or direction, and the rule by which our value reproduces it.

Statements are data, a JSON file per paper in `vcgym.data`. Each paper has its own measures; rules, verdicts and tables are common to all
papers (`judge`, `verdicts`).
"""

from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

Rule = Literal["within", "at most", "at least", "lower", "higher", "equal", "not higher", "none"]


class StatementRecord(BaseModel):
    """Part of a statements file: immutable, without unknown fields or NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Statement(StatementRecord):
    """Published number or direction, and the rule by which our value reproduces it.

    Attributes:
        id: name of the statement.
        source: table, figure or section.
        kind: T: in a table, X: in the text, F: only in a picture.
        text: subject of the statement.
        published: published value as text.
        rule: rule of reproduction; see `lab.papers.judge`.
        accepted: the published value or range, with its declared tolerance, in the unit of the measure.
        note: a remark for the reader.
        other_readings: ids of the same printed text in other readings.
    """

    id: str
    source: str
    kind: Literal["T", "X", "F"]
    text: str
    published: str
    rule: Rule
    accepted: tuple[float, float] | None = None
    note: str = ""
    other_readings: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if self.accepted is None and self.rule in ("within", "at most", "at least", "equal", "not higher"):
            raise ValueError(f"{self.id}: rule {self.rule!r} without a range; allowed: accepted [low, high]")
        if self.accepted is not None and self.accepted[0] > self.accepted[1]:
            raise ValueError(f"{self.id}: accepted is {self.accepted}; allowed: low <= high")
        if self.rule == "none" and not self.note:
            raise ValueError(f"{self.id}: rule none without a note; allowed: a note that says why")
        return self


class NotComparable(StatementRecord):
    """Measure of a statement that cannot be compared with our results."""

    of: Literal["nothing"]


StatementT = TypeVar("StatementT", bound=Statement)


def each_once(statements: tuple[StatementT, ...]) -> tuple[StatementT, ...]:
    """Return the statements after a check that their ids are distinct.

    Raises:
        ValueError: the message names the repeated ids.
    """
    names = [statement.id for statement in statements]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two statements are called {twice}; allowed: each id once")
    return statements
