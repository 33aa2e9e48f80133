"""Bars: for each board of a suite the tuned reference system, chosen on validation worlds.

The validation worlds of a suite are sampled like its own, but from pairs, times and seeds of the validation split. Every tuned system plays
them, and the best by the ranked metric is the bar; test worlds have no influence. `data/bars.json` stores the bars and the figures that
decided them (`python -m lab.shipped.bars`). Every run plays the bars of its suite (`references`), whatever systems it is asked for: a
reference that changed with them could change the sign of a difference. On traces of one's own, and worlds fitted to them, the bar is the
reference for unknown paths. Where none was chosen, it is the best tuned system of the board.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from vcgym.network.traces.cards import Carded, load_carded

FILE = "bars.json"
TUNED = "tuned"
"""Kind of systems whose parameters were searched."""
OF_ANY_KIND = "DRT-BF-tuned"
"""Reference of the mixture, for unknown paths: least mean regret over 16 kinds of validation worlds (lab/notes/agents.md)."""
OWN = ("replay", "fitted")
"""Suites of the user's own paths, whose version is a hash of the data."""


class Bars(Carded):
    """Content of data/bars.json.

    Attributes:
        metric: the compared metric, by suite.
        bars: the chosen system, by suite and board.
        validation: mean of the metric of each tuned system, best first, by suite and board.
    """

    metric: dict[str, str]
    bars: dict[str, dict[str, str]]
    validation: dict[str, dict[str, dict[str, float]]]


@cache
def load_bars() -> Bars:
    """Return the shipped bars."""
    return load_carded(Bars, FILE)


def bar_of(suite: str, board: str) -> str:
    """Return the bar of a board; "" for a suite without one.

    Args:
        suite: name and version, such as "correlated-v0".
        board: name of the board (`vcgym.leaderboard.report.board.board_name`).
    """
    chosen = load_bars().bars.get(suite)
    return (OF_ANY_KIND if suite.partition("-")[0] in OWN else "") if chosen is None else chosen.get(board, "")


def references(suite: str) -> list[str]:
    """Return the bars of all boards of a suite, by name and version, which every run of it plays."""
    return sorted(set(load_bars().bars.get(suite, {"": bar_of(suite, "")}).values()) - {""})


class Bar(NamedTuple):
    """Reference of a board.

    Attributes:
        system: reference system; "" if that of these worlds, or any tuned system, was not played.
        chosen: bar of these worlds, played or not; "" if none was chosen.
    """

    system: str
    chosen: str

    @property
    def about(self) -> str:
        """Description of the choice."""
        if not self.system:
            missing = f"The bar, {self.chosen}, was not played" if self.chosen else "No tuned rule was played on these worlds"
            return f"{missing}, so nothing is said about beating one."
        if self.system == self.chosen:
            return f"The bar is {self.system}, the best tuned rule on validation worlds."
        return f"The best tuned rule is {self.system}."


def bar_on(suite: str, board: str, kinds: Mapping[str, str]) -> Bar:
    """Return the reference of a board.

    Args:
        suite: name and version of the suite.
        board: name of the board.
        kinds: kinds of its systems, best first.
    """
    chosen = bar_of(suite, board)
    tuned = [name for name, kind in kinds.items() if kind == TUNED]
    return Bar((chosen if chosen in tuned else "") if chosen else next(iter(tuned), ""), chosen)
