"""Bars: for each board of a suite the tuned system that everything is compared with, chosen on validation worlds.

The validation worlds of a suite are drawn as its own are, from pairs, times and seeds of the validation split. Every tuned system plays
them, and the best by the ranked metric is the bar; test worlds decide nothing. `data/bars.json` keeps the bars with the figures that they
were chosen by (`python -m vcgym.scripts.shipped.bars`).
"""

from functools import cache
from importlib.resources import files
from typing import Any

from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.traces.cards import Carded, parse_carded

FILE = "bars.json"


class Bars(Carded):
    """Content of data/bars.json.

    Attributes:
        metric: by suite the metric that was compared.
        bars: by suite and board the chosen system.
        validation: by suite and board the mean of the metric of each tuned system, best first.
    """

    metric: dict[str, str]
    bars: dict[str, dict[str, str]]
    validation: dict[str, dict[str, dict[str, float]]]


@cache
def load_bars() -> Bars:
    """Return the shipped bars."""
    return parse_carded(Bars, FILE, files("vcgym.data").joinpath(FILE).read_text(encoding="utf-8"))


def bar_of(suite: str, board: str) -> str:
    """Return the bar of a board; "" of a suite without one, such as that of traces of your own.

    Args:
        suite: name and version, as "correlated-v0".
        board: its name (`vcgym.leaderboard.report.board.board_name`).
    """
    return load_bars().bars.get(suite, {}).get(board, "")


def validation_suite(suite: Suite) -> Suite:
    """Return the suite with its worlds drawn from the validation split."""
    return suite._replace(parts=tuple(part._replace(split="validation") for part in suite.parts))


def body_of(metric: dict[str, str], validation: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return the content of the file, less its card, in which the best system of each board is the bar."""
    ordered = {
        suite: {board: dict(sorted(means.items(), key=lambda item: (-item[1], item[0]))) for board, means in boards.items()}
        for suite, boards in validation.items()
    }
    bars = {suite: {board: next(iter(means)) for board, means in boards.items()} for suite, boards in ordered.items()}
    return {"metric": metric, "bars": bars, "validation": ordered}
