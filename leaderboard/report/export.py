"""A board as a table for a paper: LaTeX, or CSV with each number and the ends of its interval in a column of its own."""

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from io import StringIO
from pathlib import Path

from vcgym.leaderboard.report.board import Board, Line, with_seeds
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.headline import change
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import format_value
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.traces.plain_file import replace_file

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {one: rf"\{one}" for one in "&%$#_{}"}


def export(ranked: Sequence[Board], path: Path, asked: Collection[str] = ()) -> None:
    """Write boards to `path`: LaTeX with the systems of the terminal (`few`) if it ends in .tex, CSV with all of them if in .csv.

    Raises:
        ValueError: another ending.
    """
    kinds = {".tex": lambda: _latex(ranked, asked), ".csv": lambda: _csv(ranked)}
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
    primary, value_of = board.columns.primary, {run: line.standing.system for line in board.lines for run in line.runs if line.seeds}
    for line in with_seeds(board.lines):
        name, value, standing = line.standing.system, line.value, line.standing
        yield {
            "suite": board.conditions["suite"], "board": board.mode, "worlds": board.worlds, "system": name, "kind": line.kind,
            "training_of": value_of.get(name, ""), "seeds": len(line.seeds) or "", "metric": primary.name,
            **_ends("value", line.estimate(primary)), "published": board.published, **_ends("above_published", value.to_published),
            "tuned_rule": board.bar.system, **_ends("above_tuned_rule", value.to_bar), **_ends("percent_of_attainable", value.score),
            "rank_low": standing.rank_low or "", "rank_high": standing.rank_high or "", **line.cost,
        }  # fmt: skip


def _ends(name: str, found: Estimate | None) -> dict[str, object]:
    values = ("", "", "") if found is None else tuple("" if end != end else f"{end:.6g}" for end in found)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _latex(ranked: Iterable[Board], asked: Collection[str]) -> str:
    return "% needs \\usepackage{booktabs}; brackets: 95 % intervals\n" + "\n".join(_tabular(board, few(board, asked)) for board in ranked)


def _tabular(board: Board, lines: Sequence[Line]) -> str:
    """Return a board as a tabular; a method has its number of seeds after its name."""
    primary, has_room = board.columns.primary, board.axis is not None and board.axis.has_room
    above = [f"above {in_words(name)}" for name in (board.published, board.bar.system) if name]
    headings = ["system", primary.heading, *above, *(["% of attainable"] if has_room else []), "rank"]
    rows = [" & ".join(map(_escaped, headings)) + r" \\", r"\midrule"]
    for line in lines:
        value, low, high = (format_value(primary, end) for end in line.estimate(primary))
        seeds = f" ({len(line.seeds)} seeds)" if line.seeds else ""
        beside = [change(board, found) for found in (line.value.to_published, line.value.to_bar) if found]
        score = [format_score(line.value.score)] if has_room and line.value.score else []
        cells = [in_words(line.standing.system) + seeds, f"{value} [{low}, {high}]", *beside, *score, line.standing.ranks]
        rows.append(" & ".join(map(_escaped, cells)) + r" \\")
    title = _escaped(f"{board.conditions['suite']}, {board.mode}, {board.worlds} worlds")
    return "\n".join(
        [f"% {title}", rf"\begin{{tabular}}{{l{'r' * (len(headings) - 2)}l}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}", ""]
    )


def _escaped(text: str) -> str:
    """Return text with LaTeX's special characters escaped, ranges with an en dash and signs in math."""
    found = "".join(_SPECIAL.get(one, one) for one in text)
    found = re.sub(r"(?<![\w.])-(?=\d)", "$-$", found)
    return re.sub(r"(?<=\d)-(?=\d)", "--", found) if re.fullmatch(r"\d+-\d+", found) else found
