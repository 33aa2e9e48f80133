"""The first picture of a board: the lead of each system, as a share of the attainable gain if known, overall and by stratum."""

from typing import NamedTuple

from matplotlib.ticker import MaxNLocator

from vcgym.leaderboard.report.board import Board, Line
from vcgym.leaderboard.report.page.scale import Interval, Scale, robust
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.headline import change
from vcgym.leaderboard.report.words.names import STRATA, few, meaning, mine
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.statistics import Estimate

WIDEST = (-50.0, 150.0)
"""Beyond this a score is drawn at the end of the axis: a share of a small room can be as far off as it likes."""
ROLES = {"first": "first", "mine": "your agent", "bar": "best tuned rule", "published": "best published"}


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
    first = board.lines[0].standing.system
    of_role = {"published": [board.published], "bar": [board.bar.system], "first": [first], "mine": mine(board)}
    return {name: role for role, names in of_role.items() for name in names}


def _systems(board: Board, roles: dict[str, str]) -> Panel:
    shown = few(board)
    if board.axis is not None and board.axis.has_room:
        scores = board.axis.scores
        found = [(line, scores[line.standing.system], format_score(scores[line.standing.system])) for line in shown]
        inside = [score.value for _, score, _ in found if WIDEST[0] <= score.value <= WIDEST[1]]
        scale = Scale(min(-5.0, *inside), max(105.0, *inside))
        zero = f"{in_words(board.published)}, the best published system"
        title, axis = "Who is ahead", f"% of attainable: 0 = {zero}; 100 = hindsight"
        lines = [(scale.place(end), f"{end:.0f}") for end in (0.0, 100.0)]
    else:
        found = [(line, difference, change(board, difference)) for line in shown if (difference := line.value.to_published)]
        scale = _with_zero(robust([difference for _, difference, _ in found], min_step=board.columns.min_step), board.columns.min_step)
        title, axis = (
            "Who is ahead",
            f"{board.columns.primary.label} above {in_words(board.published)}, the best published system, on the same worlds",
        )
        lines = _ticks(scale, board.columns.primary.factor)
    lanes = [_lane(line, score, words, scale, roles) for line, score, words in found]
    return Panel(title, axis, lines, [lane for lane in lanes if lane.marks])


def _lane(line: Line, found: Estimate, words: str, scale: Scale, roles: dict[str, str]) -> Lane:
    name, interval = line.standing.system, scale.interval(found)
    return Lane(in_words(name), meaning(name), [Mark(roles.get(name, "other"), in_words(name), interval, words)] if interval else [])


def _strata(board: Board, roles: dict[str, str]) -> Panel:
    """Return per stratum the differences to the best published system of the first system, the user's agent, and the bar."""
    names = [next((name for name, role in roles.items() if role == wanted), "") for wanted in ("first", "mine", "bar")]
    names = [name for name in names if name]
    ends = [end for one in board.strata for name in names for end in one.to_published[name] if end == end]
    scale = _with_zero(Scale(min(ends, default=0.0), max(ends, default=0.0)), board.columns.min_step)
    lanes = []
    for one in board.strata:
        found = [(name, one.to_published[name]) for name in names]
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
