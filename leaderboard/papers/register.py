"""Register of a paper, a JSON file in `vcgym.data`: its statements, and the arithmetic on its printed numbers."""

from typing import Annotated, Generic, Self

from pydantic import AfterValidator, Field, model_validator

from vcgym.leaderboard.papers.arithmetic import Arithmetic
from vcgym.leaderboard.papers.statements import StatementT, each_once
from vcgym.network.traces.cards import Carded


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
