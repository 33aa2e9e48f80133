"""The leaderboard as text: rich tables per mode that fit a terminal of 120 columns, and Markdown."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.leaderboard.report.board import SATISFIED_R, Board, Line, Stratum, Worth
from vcgym.leaderboard.report.details import details
from vcgym.leaderboard.report.scores.anchored import HUNDRED, INFORMED
from vcgym.leaderboard.report.scores.anchored import shown as words
from vcgym.leaderboard.results.columns import EFFORT, METRIC, shown

_TEXT = ("rank", "system", "kind")
_STRATA_ABREAST = 6  # that fit a terminal
_PERCENTILES = ("mean", "p50", "p95", "p99")
_DETAILS = (
    "r_p5",
    "one_way_delay_mean_ms",
    "reordering_delay_mean_ms",
    "playout_delay_mean_ms",
    "network_loss",
    "event_late_loss",
    "clocked_late_loss",
    "concealed_share",
    "path_changes",
    "plans_sent",
    "probes_sent",
)


def print_boards(boards: Iterable[Board], console: Console) -> None:
    """Print for each mode the score with both accountings, then where the delay and the losses come from."""
    for board in boards:
        console.print(_rich(f"{_title(board)}: score and end-to-end delay", _score_headings(), map(_score_cells, board.lines), board.lines))
        title = f"{_title(board)}: beside what was attainable, and what it took"
        console.print(_rich(title, _worth_headings(), _worth_rows(board), board.lines))
        console.print(_rich(f"{_title(board)}: what it is made of", _detail_headings(), map(_detail_cells, board.lines), board.lines))
        for first in range(0, len(board.strata), _STRATA_ABREAST):
            few = board.strata[first : first + _STRATA_ABREAST]
            title = f"{_title(board)}: R (rank) in each stratum by itself"
            console.print(_rich(title, _strata_headings(few), _strata_rows(board, few), board.lines))
        console.print(_footnote(board), style="dim", highlight=False)


def markdown(boards: Iterable[Board]) -> str:
    """The same tables as Markdown, each mode under a heading with its conditions."""
    parts = ["# Leaderboard\n"]
    for board in boards:
        parts += [
            f"## {_title(board)}\n",
            markdown_table(_score_headings(), map(_score_cells, board.lines)),
            markdown_table(_worth_headings(), _worth_rows(board)),
            markdown_table(_detail_headings(), map(_detail_cells, board.lines)),
            *([markdown_table(_strata_headings(board.strata), _strata_rows(board, board.strata))] if board.strata else []),
            *(f"{table.title}:\n\n{markdown_table(table.headings, table.rows)}" for table in details(board)),
            _footnote(board) + "\n",
            "\n".join(f"- {name}: {value}" for name, value in board.conditions.items()) + "\n",
        ]
    return "\n".join(parts)


def _title(board: Board) -> str:
    return f"Mode {board.mode} ({board.worlds} worlds)"


def _footnote(board: Board) -> str:
    return (
        "R, MOS: interquartile mean over worlds [95 % interval]; all else: mean over worlds. Clocked: what a player of constant pace "
        f"plays; event: what the receiver emits. Delay impairment: {board.conditions['delay impairment']}. Score: {_axis(board)}. Won: "
        f"share of worlds better than {board.reference}. Short: mean lack to R {SATISFIED_R:.0f}. {' '.join(board.notes)}"
    )


def _axis(board: Board) -> str:
    axis = board.axis
    if axis is None:
        return "none, `vcgym-headroom` has not been run"
    scores = [f"100 = {HUNDRED}", *(f"{name} {words(axis.scores[name])}" for name in (axis.tuned, INFORMED) if name in axis.scores)]
    return f"0 = {axis.zero}, {', '.join(scores)}; room {axis.room.value:.2f} R [{axis.room.low:.2f}, {axis.room.high:.2f}]"


def _worth_headings() -> list[str]:
    short = f"short of\n{SATISFIED_R:.0f}"
    return ["system", "kind", "score\n[95 %]", "regret\nR", "won %\n[95 %]", "median\nR", short, "decisions", "trials", "numbers"]


def _worth_rows(board: Board) -> list[list[str]]:
    return [
        [line.standing.system, line.kind, *_worth_cells(line.worth), *(f"{line.effort[name]:,}" for name in EFFORT)] for line in board.lines
    ]


def _worth_cells(worth: Worth) -> list[str]:
    value, low, high = (100.0 * share for share in worth.won)
    return [
        words(worth.score) if worth.score else "",
        shown(METRIC["r"], worth.regret.value) if worth.regret else "",
        f"{value:.0f} [{low:.0f}, {high:.0f}]",
        *(shown(METRIC["r"], estimate.value) for estimate in (worth.median, worth.shortfall)),
    ]


def _score_headings() -> list[str]:
    delays = f"{'/'.join(_PERCENTILES)} ms"
    return ["rank", "system", "kind", "R [95 %]", "MOS", f"clocked\n{delays}", f"event\n{delays}"]


def _score_cells(line: Line) -> list[str]:
    r, (value, low, high) = METRIC["r"], line.estimate(METRIC["r"])
    return [
        line.rank,
        line.standing.system,
        line.kind,
        f"{shown(r, value)} [{shown(r, low)}, {shown(r, high)}]",
        line.shown(METRIC["mos"]),
        *(
            " / ".join(line.shown(METRIC[f"{accounting}_end_to_end_delay_{label}_ms"]) for label in _PERCENTILES)
            for accounting in ("clocked", "event")
        ),
    ]


def _detail_headings() -> list[str]:
    return ["system", *(f"{METRIC[name].label} {METRIC[name].unit}".strip().replace(" ", "\n") for name in _DETAILS)]


def _detail_cells(line: Line) -> list[str]:
    return [line.standing.system, *(line.shown(METRIC[name]) for name in _DETAILS)]


def _strata_headings(strata: Sequence[Stratum]) -> list[str]:
    return ["system", *(f"{stratum.name}\n{stratum.worlds} worlds" for stratum in strata)]


def _strata_rows(board: Board, strata: Sequence[Stratum]) -> list[list[str]]:
    systems = [line.standing.system for line in board.lines]
    return [[system, *(stratum.shown(system) for stratum in strata)] for system in systems]


def _rich(title: str, headings: list[str], rows: Iterable[list[str]], lines: Iterable[Line]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in _TEXT else "right", no_wrap=True)
    for cells, line in zip(rows, lines, strict=True):
        table.add_row(*(cell.replace("[", r"\[") for cell in cells), style="bold" if line.kind == "agent" else None)
    return table


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: tuple[str, ...] = _TEXT) -> str:
    """A Markdown table; columns are set to the right but for those headed as `text` says."""
    ruler = ["---" if heading in text else "---:" for heading in headings]
    cells = [[heading.replace("\n", " ") for heading in headings], ruler, *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"
