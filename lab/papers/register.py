"""Register of a paper, a JSON file in lab/papers/data: its statements, and the arithmetic on its printed numbers."""

from pathlib import Path
from typing import Annotated, Generic, Self

from pydantic import AfterValidator, Field, model_validator

from lab.papers.arithmetic import Arithmetic
from lab.papers.statements import StatementT, each_once
from vcgym.network.traces.cards import Carded, CardedT, parse_carded

DATA = Path(__file__).parent / "data"


class Register(Carded, Generic[StatementT]):
    """Content of the file.

    Attributes:
        card: see `vcgym.network.traces.cards.Card`.
        statements: statements that are compared with our results.
        arithmetic: checks of the printed numbers against each other.
    """

    statements: Annotated[tuple[StatementT, ...], Field(min_length=1), AfterValidator(each_once)]
    arithmetic: tuple[Arithmetic, ...]

    @model_validator(mode="after")
    def _names_its_statements(self) -> Self:
        known = {statement.id for statement in self.statements}
        checks = [check.id for check in self.arithmetic]
        unknown = sorted({about for check in self.arithmetic for about in check.about} - known)
        twice = sorted({name for name in checks if checks.count(name) > 1 or name in known})
        if unknown or twice:
            raise ValueError(f"arithmetic is about {unknown} and repeats {twice}; allowed: ids of statements, each id once")
        return self


def load_document(kind: type[CardedT], file: str) -> CardedT:
    """Load a document with a card from `DATA`; see `vcgym.network.traces.cards.parse_carded`."""
    return parse_carded(kind, file, (DATA / file).read_text(encoding="utf-8"))
