"""Delay against loss: where each system of a board lies, and which no other one beats in both."""

from typing import NamedTuple

from vcgym.leaderboard.board import Board

DELAY, LOSS = "clocked_end_to_end_delay_mean_ms", "concealed_share"


class Point(NamedTuple):
    """One system: mean delay played, ticks concealed in percent, and whether no other system has less of one and no more of the other."""

    system: str
    kind: str
    delay_ms: float
    loss_percent: float
    on_front: bool


def points(board: Board) -> list[Point]:
    """Every system of a board that has both numbers."""
    found = [(line, line.summaries[DELAY].mean.value, 100.0 * line.summaries[LOSS].mean.value) for line in board.lines]
    found = [(line, delay, loss) for line, delay, loss in found if delay == delay and loss == loss]
    return [
        Point(
            line.standing.system, line.kind, delay, loss,
            not any(d <= delay and share <= loss and (d, share) != (delay, loss) for _, d, share in found),
        )
        for line, delay, loss in found
    ]  # fmt: skip
