"""A board as a table for a paper: LaTeX, or CSV with each number and the ends of its interval in a column of its own."""

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from io import StringIO
from pathlib import Path

from vcgym.leaderboard.report.board import ABOVE_PUBLISHED, ABOVE_TUNED, ATTAINED, Board, Line, with_seeds
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.text_tables import Cells, cell, of_lines
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.sentences import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.traces.plain_file import replace_file

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {one: rf"\{one}" for one in "&%$#_{}"}


def export(ranked: Sequence[Board], path: Path, requested: Collection[str] = ()) -> None:
    """Write boards to `path`: LaTeX with the systems of the terminal (`few`) if it ends in .tex, CSV with all of them if in .csv.

    Raises:
        ValueError: another ending.
    """
    kinds = {".tex": lambda: _latex(ranked, requested), ".csv": lambda: _csv(ranked)}
    if path.suffix not in kinds:
        raise ValueError(f"output is {path}; allowed: a file that ends in {' or '.join(kinds)}")
    replace_file(path, kinds[path.suffix]().encode())


def _csv(ranked: Iterable[Board]) -> str:
    text = StringIO()
    rows = [row for board in ranked for row in _numbers(board)]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _numbers(board: Board) -> Iterable[dict[str, object]]:
    """Yield a row per system, and under a method a row per training, which has the method's name in `training_of`."""
    primary, method_of = board.columns.primary, {run: line.system for line in board.lines for run in line.runs if line.seeds}
    for line in with_seeds(board.lines):
        found, standing = line.found, line.standing
        yield {
            "suite": board.conditions["suite"], "board": board.mode, "worlds": board.worlds, "system": line.system, "kind": line.kind,
            "training_of": method_of.get(line.system, ""), "seeds": len(line.seeds) or "", "metric": primary.name,
            **_ends("value", found[primary.name]), "published": board.published, **_ends(ABOVE_PUBLISHED, found.get(ABOVE_PUBLISHED)),
            "tuned_rule": board.bar.system, **_ends(ABOVE_TUNED, found.get(ABOVE_TUNED)), **_ends(ATTAINED, found.get(ATTAINED)),
            "rank_low": standing.rank_low or "", "rank_high": standing.rank_high or "", **line.cost,
        }  # fmt: skip


def _ends(name: str, found: Estimate | None) -> dict[str, object]:
    values = ("", "", "") if found is None else tuple("" if end != end else f"{end:.6g}" for end in found)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _latex(ranked: Iterable[Board], requested: Collection[str]) -> str:
    return "% needs \\usepackage{booktabs}; brackets: 95 % intervals\n" + "\n".join(
        _tabular(board, few(board, requested)) for board in ranked
    )


def _tabular(board: Board, lines: Sequence[Line]) -> str:
    """Return a board as a tabular; a method has its number of seeds after its name."""
    primary = board.columns.primary
    cells: Cells = [
        ("system", lambda line: in_words(line.system) + (f" ({len(line.seeds)} seeds)" if line.seeds else "")),
        (primary.heading, cell(primary.name, primary.interval)),
        *((f"above {in_words(name)}", cell(statistic, partial(change, board))) for name, statistic in board.references),
        *([("% of attainable", cell(ATTAINED, format_score))] if board.has_scores else []),
        ("rank", lambda line: line.standing.ranks),
    ]
    _, headings, found = of_lines(cells, lines)
    head, *rows = (" & ".join(map(_escaped, row)) + r" \\" for row in (headings, *found))
    title = _escaped(f"{board.conditions['suite']}, {board.mode}, {board.worlds} worlds")
    begin = rf"\begin{{tabular}}{{l{'r' * (len(headings) - 2)}l}}"
    return "\n".join([f"% {title}", begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", ""])


def _escaped(text: str) -> str:
    """Return text with LaTeX's special characters escaped, ranges with an en dash and signs in math."""
    found = "".join(_SPECIAL.get(one, one) for one in text)
    found = re.sub(r"(?<![\w.])-(?=\d)", "$-$", found)
    return re.sub(r"(?<=\d)-(?=\d)", "--", found) if re.fullmatch(r"\d+-\d+", found) else found
