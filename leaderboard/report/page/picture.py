"""The first picture of a board: the lead of each system, as a share of the attainable gain if known, overall and by stratum.

Its scales are such that one very bad system cannot compress them: values beyond an end are drawn at the end and marked.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from vcgym.leaderboard.report.board import ABOVE_PUBLISHED, Board, Line
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.names import STRATA, few, meaning, own_agents
from vcgym.leaderboard.report.words.sentences import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.statistics import Estimate

WIDEST = (-50.0, 150.0)
"""Beyond this a score is drawn at the end of the axis: a share of a small room can be as far off as it likes."""
ROLES = {"first": "first", "mine": "your agent", "bar": "best tuned rule", "published": "best published"}


class Interval(NamedTuple):
    """Position of an estimate in percent of the scale: value and interval ends, clipped to the scale, and flags for clipping.

    `beyond` is "left" or "right" if the value itself is beyond the scale, else ""; `cut` is the same for the ends of the interval.
    """

    value: str
    low: str
    high: str
    beyond: str
    cut: tuple[bool, bool]


class Scale(NamedTuple):
    """Range of values, from left to right."""

    low: float
    high: float

    def place(self, value: float) -> str:
        """Return the clipped position of a value as a CSS percentage, "12.34%"."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100.0 * min(1.0, max(0.0, share)):.2f}%"

    def interval(self, estimate: Estimate) -> Interval | None:
        """Return the position of an estimate; None if it has no value. Without an interval both ends equal the value."""
        value, low, high = estimate
        if value != value:
            return None
        low, high = (low, high) if low == low and high == high else (value, value)
        beyond = "left" if value < self.low else "right" if value > self.high else ""
        return Interval(self.place(value), self.place(low), self.place(high), beyond, (low < self.low, high > self.high))


def robust(estimates: Sequence[Estimate], better: int = 1, min_step: float = 1.0) -> Scale:
    """Return a scale with all values except outliers, and their intervals up to the fences; the best value is never an outlier.

    Args:
        estimates: estimates to draw.
        better: +1 if more is better, -1 if less is better.
        min_step: minimum distance of an outlier from its quartile; it is also at least 1.5 times the interquartile range (Tukey).
    """
    if better < 0:
        turned = robust([Estimate(-value, -high, -low) for value, low, high in estimates], min_step=min_step)
        return Scale(-turned.high, -turned.low)
    values = np.array([estimate.value for estimate in estimates if estimate.value == estimate.value])
    if not values.size:
        return Scale(0.0, 1.0)
    quartiles = np.percentile(values, (25.0, 75.0))
    fence = max(min_step, 1.5 * float(quartiles[1] - quartiles[0]))
    low_fence, high_fence = float(quartiles[0]) - fence, max(float(quartiles[1]) + fence, float(values.max()))
    ends = [end for estimate in estimates for end in estimate if end == end and low_fence <= estimate.value]
    low, high = max(min(ends), low_fence), min(max(ends), high_fence)
    margin = max(0.05 * min_step, 0.04 * (high - low))
    return Scale(low - margin, high + margin)


class Mark(NamedTuple):
    """System on a lane: its role (first, mine, bar, published, or other), name, position on the axis, and value as text."""

    role: str
    name: str
    place: Interval
    words: str


class Lane(NamedTuple):
    """Lane of a picture: its label, the meaning of the label, and its marks, one below the other."""

    label: str
    about: str
    marks: list[Mark]


class Panel(NamedTuple):
    """Lanes over one axis: title, label of the axis, positions and labels of its lines, and the lanes."""

    title: str
    axis: str
    lines: list[tuple[str, str]]
    lanes: list[Lane]


def picture(board: Board) -> list[Panel]:
    """Return the panels of a board: systems, then strata if there are several; none without a published reference system."""
    if not board.published:
        return []
    roles = _roles(board)
    return [_systems(board, roles), *([_strata(board, roles)] if board.strata else [])]


def _roles(board: Board) -> dict[str, str]:
    """Return the role of each system that has one."""
    first = board.lines[0].system
    of_role = {"published": [board.published], "bar": [board.bar.system], "first": [first], "mine": own_agents(board)}
    return {name: role for role, names in of_role.items() for name in names}


def _systems(board: Board, roles: dict[str, str]) -> Panel:
    shown = few(board)
    if board.axis is not None and board.axis.has_headroom:
        scores = board.axis.scores
        found = [(line, scores[line.system], format_score(scores[line.system])) for line in shown]
        inside = [score.value for _, score, _ in found if WIDEST[0] <= score.value <= WIDEST[1]]
        scale = Scale(min(-5.0, *inside), max(105.0, *inside))
        zero = f"{in_words(board.published)}, the best published system"
        title, axis = "Who is ahead", f"% of attainable: 0 = {zero}; 100 = hindsight"
        lines = [(scale.place(end), f"{end:.0f}") for end in (0.0, 100.0)]
    else:
        found = [(line, difference, change(board, difference)) for line in shown if (difference := line.found.get(ABOVE_PUBLISHED))]
        scale = _with_zero(robust([difference for _, difference, _ in found], min_step=board.columns.min_step), board.columns.min_step)
        title, axis = (
            "Who is ahead",
            f"{board.columns.primary.label} above {in_words(board.published)}, the best published system, on the same worlds",
        )
        lines = _ticks(scale, board.columns.primary.factor)
    lanes = [_lane(line, score, words, scale, roles) for line, score, words in found]
    return Panel(title, axis, lines, [lane for lane in lanes if lane.marks])


def _lane(line: Line, found: Estimate, words: str, scale: Scale, roles: dict[str, str]) -> Lane:
    name, interval = line.system, scale.interval(found)
    return Lane(in_words(name), meaning(name), [Mark(roles.get(name, "other"), in_words(name), interval, words)] if interval else [])


def _strata(board: Board, roles: dict[str, str]) -> Panel:
    """Return per stratum the differences to the best published system of the first system, the user's agent, and the bar."""
    names = [next((name for name, role in roles.items() if role == wanted), "") for wanted in ("first", "mine", "bar")]
    names = [name for name in names if name]
    ends = [end for one in board.strata for name in names for end in one.found[name][ABOVE_PUBLISHED] if end == end]
    scale = _with_zero(Scale(min(ends, default=0.0), max(ends, default=0.0)), board.columns.min_step)
    lanes = []
    for one in board.strata:
        found = [(name, one.found[name][ABOVE_PUBLISHED]) for name in names]
        places = [(name, value, scale.interval(value)) for name, value in found]
        marks = [Mark(roles[name], in_words(name), place, change(board, value)) for name, value, place in places if place]
        lanes.append(Lane(f"{one.name} ({one.worlds})", STRATA.get(one.name, ""), marks))
    axis = f"{board.columns.primary.label} above {in_words(board.published)}, in each kind of world (how many)"
    return Panel("Where", axis, _ticks(scale, board.columns.primary.factor), lanes)


def _with_zero(scale: Scale, min_step: float) -> Scale:
    margin = 0.04 * max(min_step, max(scale.high, 0.0) - min(scale.low, 0.0))
    return Scale(min(scale.low, -margin), max(scale.high, margin))


def _ticks(scale: Scale, factor: float) -> list[tuple[str, str]]:
    """Return positions and labels of about four round values."""
    ticks = map(float, MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(factor * scale.low, factor * scale.high))
    return [(scale.place(tick / factor), f"{tick:+g}" if tick else "0") for tick in ticks if scale.low <= tick / factor <= scale.high]
