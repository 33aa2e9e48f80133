"""The board of `make leaderboard` on the pages: ``python docs/site/board.py`` writes README's table and sentences from kept rows.

`quick_v2_board.parquet` keeps what they need of a run: R, mouth-to-ear delay and concealed share of every system and of hindsight in each
world of mode correlated. ``python docs/site/board.py outputs/leaderboard/quick-v2`` keeps the rows of that run first.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vcgym.leaderboard.report.board import Board, Line, board_of
from vcgym.leaderboard.report.scores.anchored import format_score
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.words.headline import change, headline
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.columns import format_value
from vcgym.leaderboard.results.files import read_with_oracles

HOME = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("quick_v2_board.parquet")
MODE = "correlated"
STEPS = {"r": 1e-4, "mouth_to_ear_mean_ms": 1e-2, "concealed_share": 1e-6}
"""Kept metrics; each is kept as a whole number of such steps."""
COLUMNS = CALL._replace(
    metrics=tuple(CALL.metric[name] for name in STEPS), headline=(), details=(), groups=(), fronts=(), curves=(), bands=None
)
RESULTS = "lab/notes/results.md"
BEST_ROWS = 8  # of README's table, before the last system
BEGIN, END = "<!-- docs/site/board.py writes from here -->\n", "<!-- to here -->\n"


def keep(run: Path) -> None:
    """Keep the rows of a finished run."""
    rows = read_with_oracles(run).filter(pc.field("mode") == MODE)
    for name, step in STEPS.items():
        whole = pc.round(pc.divide(rows[name], step)).cast(pa.int32())
        rows = rows.set_column(rows.column_names.index(name), name, whole)
    texts = [name for name, kind in COLUMNS.types.items() if kind == "string"]
    pq.write_table(
        rows.select(list(COLUMNS.types)), KEPT, compression="zstd", use_dictionary=texts,
        column_encoding=dict.fromkeys(STEPS, "DELTA_BINARY_PACKED"),
    )  # fmt: skip


def kept_board() -> Board:
    """Return the board of the kept rows."""
    rows = pq.read_table(KEPT)
    for name, step in STEPS.items():
        rows = rows.set_column(rows.column_names.index(name), name, pc.multiply(rows[name].cast(pa.float64()), step))
    return board_of(COLUMNS, MODE, rows)


def blocks(board: Board) -> dict[str, str]:
    """Return what is written into each page: the short table, or the sentences of the report."""
    said = "\n>\n".join(f"> {sentence}" for sentence in (*headline(board), board.notes[-1])) + "\n"
    return {"README.md": short_table(board), RESULTS: said}


def short_table(board: Board) -> str:
    """Return README's table: the best system of the first families, and the last one."""
    assert board.bar.system
    shown = few(board)
    shown = [*shown[:BEST_ROWS], *shown[BEST_ROWS:][-1:]]
    above = [f"above {in_words(name)}" for name in (board.published, board.bar.system)]
    return markdown_table(["system", "R", *above, "% of attainable", "rank"], (_cells(board, line) for line in shown))


def _cells(board: Board, line: Line) -> list[str]:
    value = format_value(board.columns.primary, line.estimate(board.columns.primary).value)
    above = [change(board, difference) for difference in (line.value.to_published, line.value.to_bar) if difference]
    score = format_score(line.value.score) if line.value.score else ""
    return [in_words(line.standing.system), value, *above, score, line.rank]


def main() -> None:
    """Keep rows if a run is named, then write the pages."""
    if sys.argv[1:]:
        keep(Path(sys.argv[1]))
    for name, block in blocks(kept_board()).items():
        page = (HOME / name).read_text(encoding="utf-8")
        begin, end = page.index(BEGIN), page.index(END)
        (HOME / name).write_text(f"{page[:begin]}{BEGIN}\n{block}\n{page[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
