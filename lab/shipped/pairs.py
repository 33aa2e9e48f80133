"""Figures of the learned pairs against the best tuned rule of each board: ``python -m lab.shipped.pairs`` plays and writes them.

`learned_pairs.csv` keeps the differences: those of the board, and plain means with intervals over worlds and over pairs or series.
The measured boards need the series under `VCGYM_DATA`. Five minutes of two cores.
"""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from lab.shipped.board import HOME, write_block
from vcgym.leaderboard.evaluation.bars import load_bars
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.board import ABOVE_TUNED, board_name, boards
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.network.scenarios.paths.linked import NATURAL

KEPT = Path(__file__).with_name("learned_pairs.csv")
PAGE, NOTES = "docs/train.md", "lab/notes/agents.md"
PLAYED = ("correlated-v0", "paper-v0", "stress-v1", "scale-v0", "replay-v0", "measured-v0")
PAIRS = ("learned",)
WORLD = ("scenario", "stratum", "pair", "seed")


def played() -> Iterator[dict[str, str]]:
    """Play the pairs and the references, and yield a row for each board and pair."""
    for name in PLAYED:
        references = sorted(set(load_bars().bars[name].values()))
        rows = play(*references, *PAIRS, suite=name, threads=2, progress_bar=True)
        for board in boards(rows):
            lines = {line.system: line for line in board.lines}
            for pair in PAIRS if board.bar and not board.mode.endswith(NATURAL) else ():
                difference = lines[pair].found[ABOVE_TUNED]
                numbers = {word: getattr(difference, word) for word in ("value", "low", "high")} | _means(
                    rows, board.mode, pair, board.bar.system
                )
                cells = {word: f"{number:.4f}" for word, number in numbers.items()}
                yield {"suite": name, "mode": board.mode, "worlds": str(board.worlds), "reference": board.bar.system, "pair": pair, **cells}


def _means(rows: pa.Table, mode: str, system: str, reference: str) -> dict[str, float]:
    """Return the mean difference of R with half of its 95 % interval over worlds and over pairs, NaN for a single pair."""
    names = pa.array(map(board_name, rows["mode"].to_pylist(), rows["stratum"].to_pylist()))
    of_mode = rows.filter(pc.equal(names, mode))
    found = {
        name: of_mode.filter(pc.field("system") == name).sort_by([(key, "ascending") for key in WORLD]) for name in (system, reference)
    }
    difference = np.subtract(*(one["r"].to_numpy() for one in found.values()))
    pairs = np.array([f"{row['scenario']} {row['pair']}" for row in found[system].select(["scenario", "pair"]).to_pylist()])
    of_pairs = np.array([difference[pairs == one].mean() for one in np.unique(pairs)])
    return {"mean": difference.mean(), "over_worlds": _half(difference), "over_pairs": _half(of_pairs)}


def _half(sample: NDArray[np.float64]) -> float:
    if len(sample) < 2:
        return np.nan
    return float(stats.t.ppf(0.975, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))


def table(rows: list[dict[str, str]], cell: Callable[[dict[str, str]], str]) -> str:
    """Return a table with a row for each board, and in it a cell for each pair."""
    shown: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        shown.setdefault((row["suite"], row["mode"]), [in_words(row["reference"])]).append(cell(row))
    lines = ([f"`{suite}`, {mode}", *cells] for (suite, mode), cells in shown.items())
    return markdown_table(["board", "best tuned rule", *map(in_words, PAIRS)], lines)


def of_board(row: dict[str, str]) -> str:
    """Return the difference on a board, without an interval where too few calls over measured time count."""
    value, low, high = (float(row[word]) for word in ("value", "low", "high"))
    return f"{value:+.2f}" + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")


def of_means(row: dict[str, str]) -> str:
    """Return the plain mean with its intervals over worlds and over pairs."""
    mean, worlds, pairs = (float(row[word]) for word in ("mean", "over_worlds", "over_pairs"))
    return f"{mean:+.2f} ± {worlds:.2f}; " + ("one series" if np.isnan(pairs) else f"± {pairs:.2f}")


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
    write_block(HOME / PAGE, "pairs", table(rows, of_board))
    write_block(HOME / NOTES, "pairs", table(rows, of_means))


if __name__ == "__main__":
    main()
