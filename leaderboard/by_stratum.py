"""Anchored scores stratum by stratum: the one table of them, which the page and Markdown show."""

from typing import NamedTuple

from vcgym.leaderboard.board import Board
from vcgym.leaderboard.scores.anchored import INFORMED, shown


class ScoreTable(NamedTuple):
    """What the columns are about; where each begins and how much room it has; and a row of scores per system, best first."""

    headings: list[str]
    anchors: list[list[str]]
    scores: list[list[str]]


def score_table(board: Board) -> ScoreTable | None:
    """All worlds, then each stratum; None without oracles, or without strata to tell apart."""
    axes = [(f"all ({board.worlds})", board.axis), *((f"{one.name} ({one.worlds})", one.axis) for one in board.strata)]
    found = [(name, axis) for name, axis in axes if axis is not None]
    if len(found) < 2:
        return None
    of_strata = [axis for _, axis in found]
    anchors = [
        ["0 = best published", *(axis.zero for axis in of_strata)],
        ["best tuned rule", *(axis.tuned or "" for axis in of_strata)],
        ["room, R", *(f"{axis.room.value:.2f} [{axis.room.low:.2f}, {axis.room.high:.2f}]" for axis in of_strata)],
    ]
    systems = [*(line.standing.system for line in board.lines), *([INFORMED] if all(INFORMED in axis.scores for axis in of_strata) else [])]
    scores = [[name, *(shown(axis.scores[name]) for axis in of_strata)] for name in systems]
    return ScoreTable(["system", *(name for name, _ in found)], anchors, scores)
