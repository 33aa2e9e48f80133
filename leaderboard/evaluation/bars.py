"""Bars: for each board of a suite the tuned reference system, chosen on validation worlds.

The validation worlds of a suite are sampled like its own, but from pairs, times and seeds of the validation split. Every tuned system plays
them, and the best by the ranked metric is the bar; test worlds have no influence. A form that does not beat its published constants on
kinds left out of its tuning is a bar only of worlds that it was tuned on, or of kinds on which it beats them. `data/bars.json` stores the
bars and the figures that decided them (`python -m lab.shipped.bars`). Every run plays the bars of its suite (`references`), whatever
systems it is asked for: a reference that changed with them could change the sign of a difference. On traces of one's own, and worlds
fitted to them, the bar is the rule for unknown paths. Where none was chosen, it is the best tuned system of the board that beats its
published constants elsewhere.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from vcgym.baselines.system_files import tuned_names
from vcgym.baselines.systems import load_study
from vcgym.network.traces.cards import Carded, load_carded

FILE = "bars.json"
TUNED = "tuned"
"""Kind of systems whose parameters were searched."""
OWN = ("replay", "fitted")
"""Suites of the user's own paths, whose version is a hash of the data."""


class OfAnyKind(NamedTuple):
    """Rule for paths of which nothing is known, chosen by its regret over kinds of worlds (`vcgym.leaderboard.tuning.regret`).

    Attributes:
        system: the chosen system.
        regret: root mean square of the regrets of each candidate over kinds of validation worlds, least first.
        left_out: for each group of kinds the system that is chosen without it.
    """

    system: str
    regret: dict[str, float]
    left_out: dict[str, str]


class Bars(Carded):
    """Content of data/bars.json.

    Attributes:
        metric: the compared metric, by suite.
        bars: the chosen system, by suite and board.
        validation: mean of the metric of each tuned system, best first, by suite and board.
        any_kind: the rule for unknown paths.
    """

    metric: dict[str, str]
    bars: dict[str, dict[str, str]]
    validation: dict[str, dict[str, dict[str, float]]]
    any_kind: OfAnyKind


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
    return (of_any_kind() if suite.partition("-")[0] in OWN else "") if chosen is None else chosen.get(board, "")


def references(suite: str) -> list[str]:
    """Return the bars of all boards of a suite, by name and version, which every run of it plays."""
    return sorted(set(load_bars().bars.get(suite, {"": bar_of(suite, "")}).values()) - {""})


def of_any_kind() -> str:
    """Return the rule for unknown paths, which every board over paths shows."""
    return load_bars().any_kind.system


def beats_elsewhere(name: str) -> bool:
    """Return True if a tuned system beats its published constants on kinds left out of its tuning, or is no shipped form."""
    return name not in tuned_names() or bool(load_study(name)["left_out"]["beats_published"])


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
    return Bar((chosen if chosen in tuned else "") if chosen else next(filter(beats_elsewhere, tuned), ""), chosen)
