"""Bars: for each board of a suite the tuned reference system, chosen on validation worlds.

The validation worlds of a suite are sampled like its own, but from pairs, times and seeds of the validation split. Every tuned system plays
them, and the best by the ranked metric is the bar; test worlds have no influence. `data/bars.json` stores the bars and the figures that
decided them (`python -m lab.shipped.bars`).
"""

from functools import cache
from typing import Any

from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.traces.cards import Carded, load_carded

FILE = "bars.json"


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
    """Return the bar of a board; "" for a suite without one, such as a suite of your own traces.

    Args:
        suite: name and version, such as "correlated-v0".
        board: name of the board (`vcgym.leaderboard.report.board.board_name`).
    """
    return load_bars().bars.get(suite, {}).get(board, "")


def validation_suite(suite: Suite) -> Suite:
    """Return the suite with worlds sampled from the validation split."""
    return suite._replace(parts=tuple(part._replace(split="validation") for part in suite.parts))


def body_of(metric: dict[str, str], validation: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return the content of the file without its card; the best system of each board becomes the bar."""
    ordered = {
        suite: {board: dict(sorted(means.items(), key=lambda item: (-item[1], item[0]))) for board, means in boards.items()}
        for suite, boards in validation.items()
    }
    bars = {suite: {board: next(iter(means)) for board, means in boards.items()} for suite, boards in ordered.items()}
    return {"metric": metric, "bars": bars, "validation": ordered}
