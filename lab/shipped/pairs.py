"""How the learned pairs do against the best tuned rule of each board: ``python -m lab.shipped.pairs`` plays them and writes docs/train.md.

`learned_pairs.csv` keeps the differences. The measured boards need the series under `VCGYM_DATA`. A quarter of an hour of one core.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from lab.shipped.board import HOME, write_block
from vcgym.leaderboard.evaluation.bars import load_bars
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.network.worlds.strata import NATURAL

KEPT = Path(__file__).with_name("learned_pairs.csv")
PAGE = "docs/train.md"
PLAYED = ("correlated-v0", "paper-v0", "stress-v1", "scale-v0", "replay-v0", "measured-v0")
PAIRS = ("LEARNED-everywhere", "LEARNED-correlated")


def played() -> Iterator[dict[str, str]]:
    """Play the pairs and the references, and yield a row for each board and pair."""
    for name in PLAYED:
        references = sorted(set(load_bars().bars[name].values()))
        for board in boards(play(*references, *PAIRS, suite=name, threads=2, progress_bar=True)):
            lines = {line.standing.system: line for line in board.lines}
            for pair in PAIRS if board.bar and not board.mode.endswith(NATURAL) else ():
                difference = lines[pair].value.to_bar
                assert difference is not None
                cells = {word: f"{getattr(difference, word):.4f}" for word in ("value", "low", "high")}
                yield {"suite": name, "mode": board.mode, "worlds": str(board.worlds), "reference": board.bar.system, "pair": pair, **cells}


def table(rows: list[dict[str, str]]) -> str:
    """Return the table of the page: a row for each board."""
    shown: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        value, low, high = (float(row[word]) for word in ("value", "low", "high"))
        cells = shown.setdefault((row["suite"], row["mode"]), [in_words(row["reference"])])
        cells.append(f"{value:+.2f} [{low:.2f}, {high:.2f}]")
    lines = ([f"`{suite}`, {mode}", *cells] for (suite, mode), cells in shown.items())
    return markdown_table(["board", "best tuned rule", *map(in_words, PAIRS)], lines)


def kept() -> list[dict[str, str]]:
    """Return the kept rows."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Play, keep the rows, write the page."""
    rows = list(played())
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_block(HOME / PAGE, "pairs", table(rows))


if __name__ == "__main__":
    main()
