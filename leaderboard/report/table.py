"""The leaderboard as text: for a terminal with 80 or 120 columns, and as Markdown."""

import html
from collections.abc import Collection, Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import Board, Line, Stratum, with_seeds
from vcgym.leaderboard.report.notes import COUNTED
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.beaten_by_tuned_rule import of_kinds
from vcgym.leaderboard.report.words.details import details
from vcgym.leaderboard.report.words.headline import change, headline, worth
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import COST, format_value
from vcgym.leaderboard.statistics import Estimate

_TEXT = ("rank", "system", "id", "kind")
_WIDE = 116  # columns of a terminal that shows every heading but the id; a narrower one shows differences and ranks
_WIDEST = 150  # columns of a terminal that shows the id too


def print_summary(boards: Sequence[Board], console: Console, asked: Collection[str] = ()) -> None:
    """Print the headline of the first board, agents by kind of world, and a few systems (`few`); the file has the rest.

    If the suite has other modes, the table has a column for each of them (`modes_table`).
    """
    first, others = boards[0], _other_modes(boards)
    lines = few(first, asked)
    headings, rows = modes_table(boards, lines) if others else (_few_headings(first), _few_rows(first, lines))
    narrow = headings[:1] + headings[2:-1] if others else [name for name in headings if name in ("system", "rank") or " above\n" in name]
    wide = [i for i, name in enumerate(headings) if console.width >= _WIDE or name in narrow]
    shown = [i for i in wide if console.width >= _WIDEST or headings[i] != "id"]
    table = Table(
        title=_title(first), title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False
    )  # fmt: skip
    for i in shown:
        whole = headings[i] != "system"
        table.add_column(headings[i], justify="left" if headings[i] in _TEXT else "right", no_wrap=whole, overflow="fold")
    for line, cells in zip(lines, rows, strict=True):
        table.add_row(*(cells[i].replace("[", r"\[") for i in shown), style="bold" if line.kind in AGENT_KINDS else None)
    console.print(table)
    if more := len(first.lines) - len(lines):
        console.print(f"{more} more system{'s' * (more > 1)} of this board: on the page and in the file named below.", highlight=False)
    if elsewhere := [board.mode for board in boards if board.mode not in {first.mode, *(other.mode for other in others)}]:
        console.print(f"On the page and in that file too: {'; '.join(elsewhere)}.", highlight=False)
    console.print()
    for sentence in (*headline(first), *of_kinds(first)):
        console.print(sentence, highlight=False, markup=False)
    for line in lines:
        if line.seeds:
            values = ", ".join(format_value(first.columns.primary, seed.estimate(first.columns.primary).value) for seed in line.seeds)
            console.print(f"Seeds of {line.standing.system}: {first.columns.primary.label} {values}.", highlight=False, markup=False)
    for note in first.notes if first.calls is not None else ():
        if note.startswith(COUNTED):
            console.print(note, highlight=False, markup=False)
    about = f"{first.columns.primary.label}: {first.columns.primary.about} Brackets: 95 % intervals. {worth(first)}".rstrip()
    console.print(about, highlight=False, markup=False)


def modes_table(boards: Sequence[Board], chosen: Iterable[Line]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of chosen lines of the first board, with their differences in each mode of the suite.

    The columns are the system, the difference to the best published system of the first board, the difference to the tuned reference of
    each board, and the rank on the first board.
    """
    first, label = boards[0], boards[0].columns.primary.label
    shown = [first, *_other_modes(boards)]
    beside = [(first.published, first.mode), *((board.bar.system, board.mode) for board in shown)]
    words = [(in_words(name).replace(" / ", " /\n"), mode) for name, mode in beside]
    lines = [{line.standing.system: line for line in board.lines} for board in shown]
    rows = []
    for line in chosen:
        name, above = line.standing.system, [line.value.to_published]
        above += [of_board[name].value.to_bar for of_board in lines]
        rows.append(
            [in_words(name), *(change(board, one) if one else "" for board, one in zip((first, *shown), above, strict=True)), line.rank]
        )
    return ["system", *(f"{label} above\n{name}\n{mode} [95 %]" for name, mode in words), "rank"], rows


def _other_modes(boards: Sequence[Board]) -> list[Board]:
    """Return the boards of other modes that have a tuned reference, without those of a stratum by itself; two fit a line."""
    return [board for board in boards[1:] if "-" not in board.mode and board.bar.system][:2]


def markdown(boards: Iterable[Board]) -> str:
    """Return each mode under a heading: headline, representative systems, all tables, and conditions."""
    parts = ["# Leaderboard\n"]
    for board in boards:
        parts += [
            f"## {_title(board)}\n",
            "\n\n".join(filter(None, (*headline(board), worth(board)))) + "\n",
            few_table(board),
            f"All {len(board.lines)} systems:\n",
            markdown_table(_score_headings(board), _score_rows(board)),
            markdown_table(_bar_headings(board), _bar_rows(board)),
            markdown_table(_value_headings(board), _value_rows(board)),
            markdown_table(_detail_headings(board), _detail_rows(board)),
            *([markdown_table(_strata_headings(board.strata), _strata_rows(board, board.strata))] if board.strata else []),
            *(f"{table.title}:\n\n{markdown_table(table.headings, table.rows)}" for table in details(board)),
            _footnote(board) + "\n",
            "\n".join(f"- {name}: {value}" for name, value in board.conditions.items()) + "\n",
        ]
    return "\n".join(parts)


def few_table(board: Board) -> str:
    """Return the representative systems of a board as a Markdown table."""
    return markdown_table(_few_headings(board), _few_rows(board, few(board)))


def without_markup(text: str) -> str:
    """Return Markdown in which no name can be HTML, a link or an image: names may be of somebody else."""
    return html.escape(text, quote=False).replace("](", r"]\(")


def _few_headings(board: Board) -> list[str]:
    column = board.columns.primary
    references = [in_words(name).replace(" / ", " /\n") for name in (board.published, board.bar.system) if name]
    beside = [f"{column.label} above\n{words}\n[95 %]" for words in references]
    score = ["% of\nattainable"] if board.axis is not None and board.axis.has_room else []
    return ["system", "id", "kind", *beside, *score, f"{column.heading}\n[95 %]", "rank"]


def _few_rows(board: Board, lines: Iterable[Line]) -> list[list[str]]:
    rows = []
    for line in lines:
        value, low, high = (format_value(board.columns.primary, end) for end in line.estimate(board.columns.primary))
        beside = [change(board, found) for found in (line.value.to_published, line.value.to_bar) if found]
        score = [format_score(line.value.score)] if board.axis is not None and board.axis.has_room and line.value.score else []
        name = line.standing.system
        rows.append([in_words(name), name, line.kind, *beside, *score, f"{value} [{low}, {high}]", line.rank])
    return rows


def _title(board: Board) -> str:
    counted = "" if board.calls is None else f" of measured time that count as {board.calls}"
    return f"Mode {board.mode} ({board.worlds} worlds{counted})"


def _footnote(board: Board) -> str:
    columns = board.columns
    impairment = board.conditions.get("delay impairment")
    short = "" if columns.target is None else f" Short: mean lack to {columns.primary.label} {columns.primary.factor * columns.target:g}."
    stated = f" Delay impairment: {impairment}." if impairment else ""
    return (
        f"{columns.footnote}{stated} % of attainable: {_axis(board)}. Won: share of worlds better than {board.reference}. "
        f"{board.bar.about}{short} {' '.join(board.notes)}"
    )


def _axis(board: Board) -> str:
    axis, primary = board.axis, board.columns.primary
    if axis is None:
        anchors = board.columns.anchors
        is_made_apart = anchors is not None and anchors.hundred not in board.columns.oracles
        return "none, `python -m lab headroom` has not been run" if is_made_apart else "none, no oracle with score 100 was played"
    informed = board.columns.anchors.informed if board.columns.anchors else ""
    others = [name for name in (board.bar.system, informed) if name in axis.scores]
    scores = [f"100 = {axis.hundred}", *(f"{name} {format_score(axis.scores[name])}" for name in others)]
    value, low, high = (format_value(primary, end) for end in axis.room)
    return f"0 = {axis.zero}, {', '.join(scores)}; room {value} {primary.label} [{low}, {high}]"


def _bar_headings(board: Board) -> list[str]:
    label, bar = board.columns.primary.heading, board.bar.system
    beside = [f"{label} less that of {bar} [95 %]"] if bar else []
    learned = ["learned [95 %]"] if _learned(board) else []
    return ["system", "kind", *beside, *learned, "decisions", "trials", "numbers"]


def _bar_rows(board: Board) -> list[list[str]]:
    return [
        [line.standing.system, line.kind, *_to_bar(board, line), *_to_start(board, line), *(f"{line.cost[name]:,}" for name in COST)]
        for line in board.lines
    ]


def _learned(board: Board) -> bool:
    return any(line.value.learned is not None for line in board.lines)


def _to_start(board: Board, line: Line) -> list[str]:
    """Return the cell with the gain of an agent over its start, "" without a start; no cell if no agent of the board has one."""
    if line.value.learned is None:
        return [""] if _learned(board) else []
    value, low, high = (format_value(board.columns.primary, end) for end in line.value.learned)
    return [f"{value} [{low}, {high}]"]


def _to_bar(board: Board, line: Line) -> list[str]:
    if line.value.to_bar is None:
        return []
    value, low, high = (format_value(board.columns.primary, end) for end in line.value.to_bar)
    return ["the bar" if line.standing.system == board.bar.system else f"{value} [{low}, {high}]"]


def _value_headings(board: Board) -> list[str]:
    columns = board.columns
    short = [] if columns.target is None else [f"short of\n{columns.primary.factor * columns.target:g}"]
    label = columns.primary.label.replace(" ", "\n")
    values = ["% of\nattainable\n[95 %]", f"regret\n{label}", "won %\n[95 %]", f"median\n{label}", *short]
    return ["system", "kind", *values]


def _value_rows(board: Board) -> list[list[str]]:
    return [[line.standing.system, line.kind, *_value_cells(board, line)] for line in board.lines]


def _value_cells(board: Board, line: Line) -> list[str]:
    primary, found = board.columns.primary, line.value
    won, low, high = (100.0 * share for share in found.won)
    return [
        format_score(found.score) if found.score else "",
        format_value(primary, found.regret.value) if found.regret else "",
        f"{won:.0f} [{low:.0f}, {high:.0f}]",
        *(format_value(primary, estimate.value) for estimate in (found.median, found.shortfall) if estimate),
    ]


def _score_headings(board: Board) -> list[str]:
    return ["rank", "system", "kind", f"{board.columns.primary.heading} [95 %]", *(heading for heading, _ in board.columns.headline)]


def _score_rows(board: Board) -> list[list[str]]:
    return [_score_cells(board, line) for line in with_seeds(board.lines)]


def _score_cells(board: Board, line: Line) -> list[str]:
    primary, metric = board.columns.primary, board.columns.metric
    value, low, high = (format_value(primary, end) for end in line.estimate(primary))
    return [
        line.rank,
        line.standing.system,
        line.kind,
        f"{value} [{low}, {high}]",
        *(" / ".join(line.cell(metric[name]) for name in names) for _, names in board.columns.headline),
    ]


def _detail_headings(board: Board) -> list[str]:
    return ["system", *(board.columns.metric[name].heading.replace(" ", "\n") for name in board.columns.details)]


def _detail_rows(board: Board) -> list[list[str]]:
    shown = [board.columns.metric[name] for name in board.columns.details]
    return [[in_words(line.standing.system), *map(line.cell, shown)] for line in board.lines]


def _strata_headings(strata: Sequence[Stratum]) -> list[str]:
    return ["system", *(f"{stratum.name}\n{stratum.worlds} worlds" for stratum in strata)]


def _strata_rows(board: Board, strata: Sequence[Stratum]) -> list[list[str]]:
    systems = [line.standing.system for line in board.lines]
    return [[in_words(system), *(stratum.cell(system) for stratum in strata)] for system in systems]


def signed(found: Estimate, decimals: int, factor: float = 1.0) -> str:
    """Return a difference and its interval, times `factor`, with signs."""
    value, low, high = (f"{factor * number:+.{decimals}f}" for number in found)
    return f"{value} [{low}, {high}]"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: tuple[str, ...] = _TEXT) -> str:
    """Return a Markdown table; columns are right-aligned except those with a heading in `text`."""
    ruler = ["---" if heading in text else "---:" for heading in headings]
    cells = [[heading.replace("\n", " ") for heading in headings], ruler, *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"
