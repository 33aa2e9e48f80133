"""The board of `make leaderboard` on the pages: ``python -m lab.shipped.board`` writes README's table and sentences from kept rows.

`default_board.parquet` keeps what they need of a run: R, mouth-to-ear delay and concealed share of every system and of hindsight in each
world. ``python -m lab.shipped.board outputs/leaderboard/default`` keeps the rows of that run first.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vcgym.leaderboard.report.board import Board, board_of
from vcgym.leaderboard.report.table import markdown_table, modes_table
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.sentences import headline
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.files import read_with_oracles
from vcgym.leaderboard.results.kinds import CALL

HOME = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("default_board.parquet")
STEPS = {"r": 1e-4, "mouth_to_ear_mean_ms": 1e-2, "concealed_share": 1e-6}
"""Kept metrics; each is kept as a whole number of such steps."""
COLUMNS = CALL._replace(
    metrics=tuple(CALL.metric[name] for name in STEPS), headline=(), details=(), groups=(), fronts=(), curves=(), bands=None
)
RESULTS = "lab/notes/results.md"
END = "<!-- to here -->\n"


def keep(run: Path) -> None:
    """Keep the rows of a finished run."""
    rows = read_with_oracles(run)
    for name, step in STEPS.items():
        whole = pc.round(pc.divide(rows[name], step)).cast(pa.int32())
        rows = rows.set_column(rows.column_names.index(name), name, whole)
    texts = [name for name, kind in COLUMNS.types.items() if kind == "string"]
    pq.write_table(
        rows.select(list(COLUMNS.types)), KEPT, compression="zstd", use_dictionary=texts,
        column_encoding=dict.fromkeys(STEPS, "DELTA_BINARY_PACKED"),
    )  # fmt: skip


def kept_boards() -> list[Board]:
    """Return the boards of the kept rows: modes correlated, paper and replay."""
    rows = pq.read_table(KEPT)
    for name, step in STEPS.items():
        rows = rows.set_column(rows.column_names.index(name), name, pc.multiply(rows[name].cast(pa.float64()), step))
    return [board_of(COLUMNS, mode, rows.filter(pc.field("mode") == mode)) for mode in sorted(pc.unique(rows["mode"]).to_pylist())]


def blocks(boards: Sequence[Board]) -> dict[str, str]:
    """Return what is written into each page: the short table, or the sentences of the report."""
    board = boards[0]
    said = "\n>\n".join(f"> {sentence}" for sentence in (*headline(board), board.notes[-1])) + "\n"
    return {"README.md": short_table(boards), RESULTS: said}


def short_table(boards: Sequence[Board]) -> str:
    """Return README's table in words: the first system, the references, the agents for one kind and for all, and the last system."""
    last = boards[0].lines[-1].system
    _, rows = modes_table(boards, few(boards[0], ["learned", last]))
    headings = [f"{board.mode}: above {in_words(board.bar.system)}" for board in boards]
    return markdown_table(["system", *headings, "rank"], ([name, *cells] for name, _, *cells in rows))


def marked(writer: str, block: str) -> str:
    """Return a block of a page between the comments that name the module of `lab.shipped` which writes it."""
    return f"<!-- lab/shipped/{writer}.py writes from here -->\n\n{block}\n{END}"


def write_block(page: Path, writer: str, block: str) -> None:
    """Write the block of a module of `lab.shipped` into a page."""
    text = page.read_text(encoding="utf-8")
    begin = text.index(marked(writer, "").partition("\n")[0])
    end = text.index(END, begin) + len(END)
    page.write_text(f"{text[:begin]}{marked(writer, block)}{text[end:]}", encoding="utf-8")


def main() -> None:
    """Keep rows if a run is named, then write the pages."""
    if sys.argv[1:]:
        keep(Path(sys.argv[1]))
    for name, block in blocks(kept_boards()).items():
        write_block(HOME / name, "board", block)


if __name__ == "__main__":
    main()
