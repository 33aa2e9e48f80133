"""The axis of anchored scores: where systems, the best tuned rule and oracles stand between the best published system and the oracle."""

from typing import NamedTuple

from vcgym.leaderboard.board import Board
from vcgym.leaderboard.scores.anchored import HUNDRED, INFORMED, shown


class Mark(NamedTuple):
    """One mark: its name, its score in words, where it and its interval lie along the axis, its kind, and whether it has a lane."""

    name: str
    score: str
    places: tuple[str, ...]
    kind: str
    named: bool


class Marks(NamedTuple):
    """The marks of a board, from left to right, where 0 and 100 lie, and the room between them in R; no marks where there is no room."""

    marks: list[Mark]
    ends: tuple[str, ...]
    zero: str
    room: str


def axis_marks(board: Board) -> Marks | None:
    """The axis of a board; None without the oracle that sets it."""
    if board.axis is None:
        return None
    zero, tuned, room, scores = board.axis
    of_room = f"{room.value:.2f} R, 95 % interval {room.low:.2f} to {room.high:.2f}"
    if not board.axis.has_room:
        return Marks([], (), zero, of_room)
    kinds = {line.standing.system: line.kind for line in board.lines}
    low, high = min(-5.0, *(score.value for score in scores.values())), max(105.0, *(score.value for score in scores.values()))

    def places(*values: float) -> tuple[str, ...]:
        return tuple(f"{100.0 * min(1.0, max(0.0, (value - low) / (high - low))):.2f}%" for value in values if value == value)

    named = {zero, HUNDRED, INFORMED, tuned, *(name for name, kind in kinds.items() if kind == "agent")}
    marks = [
        Mark(name, shown(score), places(*score), kinds.get(name, "oracle"), name in named)
        for name, score in sorted(scores.items(), key=lambda pair: pair[1].value)
        if name in kinds or name in named
    ]
    return Marks(marks, places(0.0, 100.0), zero, of_room)
