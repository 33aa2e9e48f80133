"""The axis of anchored scores: where systems, the best tuned rule and oracles stand between the best published system and the oracle."""

from typing import NamedTuple

from vcgym.leaderboard.report.board import Board
from vcgym.leaderboard.report.page.scale import Interval, Scale
from vcgym.leaderboard.report.scores.anchored import format_score
from vcgym.leaderboard.results.columns import format_value
from vcgym.leaderboard.statistics import Estimate

WIDEST = Scale(-50.0, 150.0)
"""Beyond this a score is drawn at the end of the axis: a share of a small room can be as far off as it likes."""


class Mark(NamedTuple):
    """Mark: its name, its score in words, where it lies along the axis, its kind, and whether it has a lane."""

    name: str
    score: str
    place: Interval
    kind: str
    named: bool


class Marks(NamedTuple):
    """The marks of a board, from left to right, none where there is no room.

    And where 0 and 100 lie, what is 0, the room between them, and the marks beyond the axis in words.
    """

    marks: list[Mark]
    ends: tuple[str, ...]
    zero: str
    room: str
    beyond: list[str]


def axis_marks(board: Board) -> Marks | None:
    """Return the axis of a board; None without the oracle that sets it."""
    if board.axis is None:
        return None
    zero, tuned, hundred, room, scores, _ = board.axis
    primary = board.columns.primary
    value, low, high = (format_value(primary, end) for end in room)
    of_room = f"{value} {primary.label}, 95 % interval {low} to {high}"
    informed = board.columns.anchors.informed if board.columns.anchors else ""
    if not board.axis.has_room:
        return Marks([], (), zero, of_room, [])
    kinds = {line.standing.system: line.kind for line in board.lines}
    named = {zero, hundred, informed, tuned, *(name for name, kind in kinds.items() if kind == "agent")}
    scale = _scale([score for name, score in scores.items() if name in kinds or name in named])
    marks = [
        Mark(name, format_score(score), place, kinds.get(name, "oracle"), name in named)
        for name, score in sorted(scores.items(), key=lambda pair: pair[1].value)
        if (name in kinds or name in named) and (place := scale.interval(score))
    ]
    beyond = [f"{mark.name} {mark.score}" for mark in marks if mark.place.beyond]
    return Marks(marks, (scale.place(0.0), scale.place(100.0)), zero, of_room, beyond)


def _scale(scores: list[Estimate]) -> Scale:
    values = [score.value for score in scores if WIDEST.low <= score.value <= WIDEST.high]
    return Scale(min(-5.0, *values), max(105.0, *values))
