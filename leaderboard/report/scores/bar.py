"""The tuned reference system of a board: the bar of its worlds, else the best tuned system on them."""

from collections.abc import Mapping
from typing import NamedTuple

from vcgym.leaderboard.evaluation.bars import bar_of

TUNED = "tuned"
"""Kind of systems whose parameters were searched."""


class Bar(NamedTuple):
    """Reference of a board.

    Attributes:
        system: reference system; "" if no tuned system was played.
        chosen: bar of these worlds, played or not; "" if none was chosen (`vcgym.leaderboard.evaluation.bars`).
    """

    system: str
    chosen: str

    @property
    def about(self) -> str:
        """Description of the choice."""
        if not self.system:
            return "No tuned rule was played on these worlds, so nothing is said about beating one."
        if self.system == self.chosen:
            return f"The bar is {self.system}, the best tuned rule on validation worlds."
        missing = f"The bar, {self.chosen}, was not played. " if self.chosen else ""
        return f"{missing}The best tuned rule is {self.system}."


def bar_on(suite: str, board: str, kinds: Mapping[str, str]) -> Bar:
    """Return the reference of a board.

    Args:
        suite: name and version of the suite.
        board: name of the board.
        kinds: kinds of its systems, best first.
    """
    chosen = bar_of(suite, board)
    tuned = [name for name, kind in kinds.items() if kind == TUNED]
    return Bar(chosen if chosen in tuned else next(iter(tuned), ""), chosen)
