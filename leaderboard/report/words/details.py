"""The collapsible tables of a board, on the page and in Markdown: each stratum against the bar, scores, Pareto fronts, profile."""

from typing import NamedTuple

from vcgym.leaderboard.report.board import Board
from vcgym.leaderboard.report.scores import Point, format_score
from vcgym.leaderboard.report.words.headline import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import DelayLoss
from vcgym.leaderboard.statistics import Estimate

MIN_SHARE = 0.05  # minimum share of resamples in which a listed system is on the front


class TextTable(NamedTuple):
    """Table with a title, headings, and rows; most rows start with the name of a system."""

    title: str
    headings: list[str]
    rows: list[list[str]]


def details(board: Board) -> list[TextTable]:
    """Return all tables; those of strata are omitted with a single stratum, the differences without a bar, the scores without oracles."""
    return [*_to_bar(board), *_scores(board), *(_front(plane, board.fronts[plane.name]) for plane in board.columns.fronts), _profile(board)]


def _to_bar(board: Board) -> list[TextTable]:
    """Return the paired difference of each system to the bar in each stratum, with the best systems first."""
    bar, others = board.bar.system, [line.standing.system for line in board.lines if line.standing.system != board.bar.system]
    if not (board.strata and bar):
        return []
    headings = ["system", *(f"{one.name} ({one.worlds})" for one in board.strata)]
    rows = [[in_words(name), *(change(board, one.to_bar[name]) for one in board.strata)] for name in others]
    return [TextTable(f"{board.columns.primary.heading} less that of {in_words(bar)} in each stratum [95 %]", headings, rows)]


def _scores(board: Board) -> list[TextTable]:
    """Return each stratum's room, then the scores, with the best systems first."""
    axes = [(f"all ({board.worlds})", board.axis), *((f"{one.name} ({one.worlds})", one.axis) for one in board.strata)]
    found = [(name, axis) for name, axis in axes if axis is not None]
    if len(found) < 2:
        return []
    of_strata, primary = [axis for _, axis in found], board.columns.primary
    rows = [[f"room, {primary.label}", *(_bounded(axis.room, primary.factor, primary.decimals) for axis in of_strata)]]
    informed = board.columns.anchors.informed if board.columns.anchors else ""
    names = [*([informed] if informed else []), *(line.standing.system for line in board.lines)]
    rows += [[in_words(name), *(format_score(axis.scores[name]) if name in axis.scores else "" for axis in of_strata)] for name in names]
    title = f"% of attainable in each stratum: 0 = {in_words(board.published)}, 100 = hindsight in that stratum [95 %]"
    return [TextTable(title, ["system", *(name for name, _ in found)], rows)]


def _profile(board: Board) -> TextTable:
    """Return the share of worlds of each system, best first, above each of `Columns.levels`."""
    columns, factor = board.columns, board.columns.primary.factor
    headings = ["system", *(f"above {factor * level:g}: {name}" for level, name in columns.levels.items())]
    rows = []
    for line in board.lines:
        profile = board.profiles[line.standing.system]
        shares = (Estimate(*map(float, ends)) for ends in zip(profile.share, profile.low, profile.high, strict=True))
        rows.append([in_words(line.standing.system), *(_percent(share, 0) for share in shares)])
    return TextTable(f"Performance profile: worlds above {columns.levels_title}, % [95 %]", headings, rows)


def _front(plane: DelayLoss, points: dict[str, Point]) -> TextTable:
    """Return the systems on the front, or in at least `MIN_SHARE` of the resamples, by delay."""
    ahead = {name: point for name, point in points.items() if point.on_front or point.front_share >= MIN_SHARE}
    rows = [[in_words(name), *_cells(point)] for name, point in sorted(ahead.items(), key=lambda pair: pair[1].delay_ms.value)]
    title = f"Pareto front of delay and loss as {plane.adjective}"
    return TextTable(title, ["system", "delay ms [95 %]", "loss % [95 %]", "on the front", "% of resamples"], rows)


def _cells(point: Point) -> list[str]:
    often = f"{100.0 * point.front_share:.0f}" if point.front_share == point.front_share else ""
    return [_bounded(point.delay_ms, 1.0, 1), _percent(point.loss, 2), "yes" if point.on_front else "no", often]


def _percent(share: Estimate, decimals: int) -> str:
    return _bounded(share, 100.0, decimals)


def _bounded(estimate: Estimate, unit: float, decimals: int) -> str:
    value, low, high = (f"{unit * end:.{decimals}f}" for end in estimate)
    return f"{value} [{low}, {high}]" if estimate.low == estimate.low else value
