"""The leaderboard as text: for a terminal with 80 or 120 columns, as Markdown, and as pages from templates."""

import html
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import ABOVE_PUBLISHED, ABOVE_TUNED, Board, Line
from vcgym.leaderboard.report.notes import COUNTED
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.text_tables import WORDS, all_systems, cell, details, few_cells, of_lines
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.sentences import by_kind, change, headline, of_tuned_rule, worth
from vcgym.leaderboard.report.words.systems import in_words

_TEXT = ("rank", "system", "id", "kind")
_WIDE = 116  # columns of a terminal that shows every heading but the id; a narrower one shows differences and ranks
_WIDEST = 150  # columns of a terminal that shows the id too


def print_summary(boards: Sequence[Board], console: Console, requested: Collection[str] = ()) -> None:
    """Print the headline of the first board, agents by kind of world, and a few systems (`few`); the file has the rest.

    If the suite has other modes, the table has a column for each of them (`modes_table`).
    """
    first, others = boards[0], _other_modes(boards)
    lines = few(first, requested)
    headings, rows = modes_table(boards, lines) if others else of_lines(few_cells(first), lines)[1:]
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
    primary = first.columns.primary
    of_seeds = {line.system: ", ".join(seed.cell(primary) for seed in line.seeds) for line in lines if line.seeds}
    seeds = [f"Seeds of {system}: {primary.label} {values}." for system, values in of_seeds.items()]
    counted = [note for note in first.notes if first.calls is not None and note.startswith(COUNTED)]
    about = f"{primary.label}: {primary.about} Brackets: 95 % intervals. {worth(first)}".rstrip()
    for sentence in (*headline(first), *by_kind(first), *seeds, *counted, about):
        console.print(sentence, highlight=False, markup=False)


def modes_table(boards: Sequence[Board], chosen: Iterable[Line]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of chosen lines of the first board, with their differences in each mode of the suite.

    The columns are the system, the difference to the best published system of the first board, the difference to the tuned reference of
    each board, and the rank on the first board.
    """
    first, label = boards[0], boards[0].columns.primary.label

    def heading(reference: str, board: Board) -> str:
        words = in_words(reference).replace(" / ", " /\n")
        return f"{label} above\n{words}\n{board.mode} [95 %]"

    def to_bar(board: Board) -> Callable[[Line], str]:
        of_system, text = {line.system: line for line in board.lines}, cell(ABOVE_TUNED, partial(change, board))
        return lambda line: text(of_system[line.system])

    above = [(heading(first.published, first), cell(ABOVE_PUBLISHED, partial(change, first)))]
    above += [(heading(board.bar.system, board), to_bar(board)) for board in (first, *_other_modes(boards))]
    _, headings, rows = of_lines([*WORDS, *above, ("rank", lambda line: line.rank)], chosen)
    return headings, rows


def _other_modes(boards: Sequence[Board]) -> list[Board]:
    """Return the boards of other modes that have a tuned reference, without those of a stratum by itself; two fit a line."""
    return [board for board in boards[1:] if "-" not in board.mode and board.bar.system][:2]


def markdown(boards: Iterable[Board]) -> str:
    """Return each mode under a heading: headline, representative systems, all tables, and conditions; then who a tuned rule beats."""
    boards, parts = list(boards), ["# Leaderboard\n"]
    for board in boards:
        few_lines = of_lines(few_cells(board), few(board))
        parts += [
            f"## {_title(board)}\n",
            "\n\n".join(filter(None, (*headline(board), worth(board)))) + "\n",
            markdown_table(few_lines.headings, few_lines.rows),
            f"All {len(board.lines)} systems:\n",
            *(markdown_table(table.headings, table.rows) for table in all_systems(board)),
            *(f"{table.title}:\n\n{markdown_table(table.headings, table.rows)}" for table in details(board)),
            _footnote(board) + "\n",
            "\n".join(f"- {name}: {value}" for name, value in board.conditions.items()) + "\n",
        ]
    beaten = "\n".join(f"- Mode {board.mode}: {of_tuned_rule(board)}" for board in boards)
    return "\n".join([*parts, f"## Beaten by a tuned rule\n\n{beaten}\n"])


def without_markup(text: str) -> str:
    """Return Markdown in which no name can be HTML, a link or an image: names may be of somebody else."""
    return html.escape(text, quote=False).replace("](", r"]\(")


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
        is_made_apart = board.columns.hundred not in ("", *board.columns.oracles)
        return "none, `python -m lab headroom` has not been run" if is_made_apart else "none, no oracle with score 100 was played"
    informed = board.columns.informed
    others = [name for name in (board.bar.system, informed) if name in axis.scores]
    scores = [f"100 = {axis.hundred}", *(f"{name} {format_score(axis.scores[name])}" for name in others)]
    value, *ends = primary.interval(axis.headroom).partition(" ")
    return f"0 = {axis.zero}, {', '.join(scores)}; room {value} {primary.label}{''.join(ends)}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: tuple[str, ...] = _TEXT) -> str:
    """Return a Markdown table; columns are right-aligned except those with a heading in `text`."""
    ruler = ["---" if heading in text else "---:" for heading in headings]
    cells = [[heading.replace("\n", " ") for heading in headings], ruler, *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"


def render(path: Path, **content: Any) -> str:
    """Render the template at `path`, with one newline at its end; in ``*.html.j2`` text is escaped.

    Raises:
        jinja2.UndefinedError: the template uses a name that `content` lacks.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(path.parent),
        autoescape=path.name.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name).render(**content).rstrip("\n") + "\n"
