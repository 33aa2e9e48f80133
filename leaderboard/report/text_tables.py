"""The tables of a board as text: which columns each has, and how its cells read."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from vcgym.leaderboard.report.board import ABOVE_TUNED, ATTAINED, Board, Line, Stratum, with_seeds
from vcgym.leaderboard.report.scores import Point, format_score
from vcgym.leaderboard.report.words.sentences import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import COST, DelayLoss, interval_text
from vcgym.leaderboard.statistics import Estimate

MIN_SHARE = 0.05  # minimum share of resamples in which a listed system is on the front


class TextTable(NamedTuple):
    """Table with a title, headings, and rows; most rows start with the name of a system."""

    title: str
    headings: list[str]
    rows: list[list[str]]


Cells = list[tuple[str, Callable[[Line], str]]]
"""Columns of a table with a row per system: the heading, and the cell of a line."""


def of_lines(cells: Cells, lines: Iterable[Line], title: str = "") -> TextTable:
    """Return the table of these columns."""
    return TextTable(title, [heading for heading, _ in cells], [[cell(line) for _, cell in cells] for line in lines])


def cell(statistic: str, text: Callable[[Estimate], str], stratum: Stratum | None = None) -> Callable[[Line], str]:
    """Return the cell of a statistic (`vcgym.leaderboard.report.board.Table`), "" for a line without it."""

    def of_line(line: Line) -> str:
        found = (stratum.of(line) if stratum else line).found
        return text(found[statistic]) if statistic in found else ""

    return of_line


WORDS: Cells = [("system", lambda line: in_words(line.system))]
_ID: Cells = [("system", lambda line: line.system), ("kind", lambda line: line.kind)]
_RANK: Cells = [("rank", lambda line: line.rank)]


def few_cells(board: Board) -> Cells:
    """Return the columns of the short table: names, differences to the references, score, value and rank."""
    primary = board.columns.primary
    references = [(in_words(name).replace(" / ", " /\n"), statistic) for name, statistic in board.references]
    above = [(f"{primary.label} above\n{words}\n[95 %]", cell(statistic, partial(change, board))) for words, statistic in references]
    score = [("% of\nattainable", cell(ATTAINED, format_score))] if board.has_scores else []
    value = f"{primary.heading}\n[95 %]", cell(primary.name, primary.interval)
    return [*WORDS, ("id", lambda line: line.system), ("kind", lambda line: line.kind), *above, *score, value, *_RANK]


def all_systems(board: Board) -> list[TextTable]:
    """Return the tables of all systems: ranks and first metrics, differences to the bar with costs, comparisons, other metrics, strata."""
    others = _to_bar(board), _comparisons(board), _other_metrics(board), _in_strata(board)
    return [of_lines(_first_metrics(board), with_seeds(board.lines)), *(of_lines(cells, board.lines) for cells in others if cells)]


def _first_metrics(board: Board) -> Cells:
    primary, metric = board.columns.primary, board.columns.metric
    several = [(heading, [metric[name] for name in names]) for heading, names in board.columns.headline]
    value = f"{primary.heading} [95 %]", cell(primary.name, primary.interval)
    return [*_RANK, *_ID, value, *((heading, lambda line, few=few: " / ".join(map(line.cell, few))) for heading, few in several)]


def _to_bar(board: Board) -> Cells:
    primary, bar, has_starts = board.columns.primary, board.bar.system, any("learned" in line.found for line in board.lines)
    difference = cell(ABOVE_TUNED, primary.interval)
    to_bar = f"{primary.heading} less that of {bar} [95 %]", lambda line: "the bar" if line.system == bar else difference(line)
    costs = zip(("decisions", "trials", "numbers"), COST, strict=True)
    return [
        *_ID,
        *([to_bar] if bar else []),
        *([("learned [95 %]", cell("learned", primary.interval))] if has_starts else []),
        *((heading, lambda line, name=name: f"{line.cost[name]:,}") for heading, name in costs),
    ]


def _comparisons(board: Board) -> Cells:
    columns, primary, label = board.columns, board.columns.primary, board.columns.primary.label.replace(" ", "\n")
    found: Cells = [
        *_ID,
        ("% of\nattainable\n[95 %]", cell(ATTAINED, format_score)),
        (f"regret\n{label}", cell("regret", lambda found: primary.text(found.value))),
        ("won %\n[95 %]", cell("won", lambda found: interval_text(found, 0, 100.0))),
        (f"median\n{label}", cell("median", lambda found: primary.text(found.value))),
    ]
    if columns.target is not None:
        found.append((f"short of\n{primary.factor * columns.target:g}", cell("shortfall", lambda found: primary.text(found.value))))
    return found


def _other_metrics(board: Board) -> Cells:
    metrics = [board.columns.metric[name] for name in board.columns.details]
    return [*WORDS, *((one.heading.replace(" ", "\n"), lambda line, one=one: line.cell(one)) for one in metrics)]


def _in_strata(board: Board) -> Cells:
    """Return the columns of values and ranks in each stratum, "84.25 (1-3)"; none with a single stratum."""
    primary = board.columns.primary

    def of_stratum(line: Line, stratum: Stratum) -> str:
        here = stratum.of(line)
        return here.cell(primary) + (f" ({here.standing.ranks})" if here.standing.ranks else "")

    columns = ((f"{one.name}\n{one.worlds} worlds", partial(of_stratum, stratum=one)) for one in board.strata)
    return [*WORDS, *columns] if board.strata else []


def details(board: Board) -> list[TextTable]:
    """Return the collapsible tables: each stratum against the bar, scores, Pareto fronts, profile.

    Those of strata are omitted with a single stratum, the differences without a bar, the scores without oracles.
    """
    fronts = (_front(plane, board.fronts[plane.name]) for plane in board.columns.fronts)
    return [*_to_bar_in_strata(board), *_scores(board), *fronts, _profile(board)]


def _to_bar_in_strata(board: Board) -> list[TextTable]:
    """Return the paired difference of each system to the bar in each stratum, with the best systems first."""
    bar = board.bar.system
    if not (board.strata and bar):
        return []
    title = f"{board.columns.primary.heading} less that of {in_words(bar)} in each stratum [95 %]"
    columns = ((f"{one.name} ({one.worlds})", cell(ABOVE_TUNED, partial(change, board), one)) for one in board.strata)
    return [of_lines([*WORDS, *columns], [line for line in board.lines if line.system != bar], title)]


def _scores(board: Board) -> list[TextTable]:
    """Return the headroom of each stratum, then the scores, with the best systems first."""
    axes = [(f"all ({board.worlds})", board.axis), *((f"{one.name} ({one.worlds})", one.axis) for one in board.strata)]
    found = [(name, axis) for name, axis in axes if axis is not None]
    if len(found) < 2:
        return []
    of_strata, primary = [axis for _, axis in found], board.columns.primary
    rows = [[f"room, {primary.label}", *(primary.interval(axis.headroom) for axis in of_strata)]]
    informed = board.columns.informed
    names = [*([informed] if informed else []), *(line.system for line in board.lines)]
    rows += [[in_words(name), *(format_score(axis.scores[name]) if name in axis.scores else "" for axis in of_strata)] for name in names]
    title = f"% of attainable in each stratum: 0 = {in_words(board.published)}, 100 = hindsight in that stratum [95 %]"
    return [TextTable(title, ["system", *(name for name, _ in found)], rows)]


def _profile(board: Board) -> TextTable:
    """Return the share of worlds of each system, best first, above each of `Columns.levels`."""
    columns, factor = board.columns, board.columns.primary.factor

    def above(line: Line, level: int) -> str:
        return interval_text((ends[level] for ends in board.profiles[line.system]), 0, 100.0)

    levels = enumerate(columns.levels.items())
    cells: Cells = [(f"above {factor * level:g}: {name}", partial(above, level=number)) for number, (level, name) in levels]
    return of_lines([*WORDS, *cells], board.lines, f"Performance profile: worlds above {columns.levels_title}, % [95 %]")


def _front(plane: DelayLoss, points: dict[str, Point]) -> TextTable:
    """Return the systems on the front, or in at least `MIN_SHARE` of the resamples, by delay."""
    ahead = {name: point for name, point in points.items() if point.on_front or point.front_share >= MIN_SHARE}
    rows = [
        [
            in_words(name), interval_text(point.delay_ms, 1), interval_text(point.loss, 2, 100.0), "yes" if point.on_front else "no",
            f"{100.0 * point.front_share:.0f}" if point.front_share == point.front_share else "",
        ]
        for name, point in sorted(ahead.items(), key=lambda pair: pair[1].delay_ms.value)
    ]  # fmt: skip
    title = f"Pareto front of delay and loss as {plane.adjective}"
    return TextTable(title, ["system", "delay ms [95 %]", "loss % [95 %]", "on the front", "% of resamples"], rows)
