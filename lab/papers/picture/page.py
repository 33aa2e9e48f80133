"""Pages of the pictures: self-contained HTML, and Markdown; the same verdicts give the same bytes.

A number has one state over all settings in which it is judged, in the paper's accounting and reading.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.papers.arithmetic import ARITHMETIC, CONTRADICTORY
from lab.papers.causes import SHARES, share_of
from lab.papers.judge import CANNOT, REPRODUCED
from lab.papers.picture.layout import PAPERS, Paper, by_source, of_paper, tables
from lab.papers.statements import Statement
from lab.papers.verdicts import ANY, INPUT, shown
from vcgym.leaderboard.report.template import render
from vcgym.leaderboard.results.cdf import ACCOUNTINGS
from vcgym.network.traces.plain_file import replace_file

_HERE = Path(__file__).parent
PARTLY, GIVEN = "reproduced in some settings", "given: an input of ours, or fitted to it"
STATES = {
    REPRODUCED: ("yes", "✓", "reproduced in every setting"), PARTLY: ("partly", "◐", PARTLY),
    SHARES[1]: ("cause", "✗", "not reproduced, cause shown"), SHARES[2]: ("none", "✗✗", "not reproduced, without a cause"),
    CANNOT: ("cannot", "?", "cannot be compared"), GIVEN: ("given", "=", GIVEN),
}  # fmt: skip
"""State of a number -> its class on the page, its mark, and its name for the reader."""


class PrintedMark(NamedTuple):
    """A printed number with its state.

    Attributes:
        text: subject.
        published: the number as printed.
        state: key of `STATES`.
        style: class on the page.
        sign: mark beside the number, so that colour is not needed.
        lines: a line per setting: verdict, our value, reason and cause; for the hover.
    """

    text: str
    published: str
    state: str
    style: str
    sign: str
    lines: list[str]


def write_pictures(folder: Path, statements: Iterable[Statement], rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Write NAME_picture.html and NAME_picture.md for each paper with statements, and return the paths of the pages.

    Args:
        folder: folder for the files.
        statements: statements of one register.
        rows: their verdicts with causes, and the arithmetic.
    """
    known = list(statements)
    written = []
    for paper in PAPERS:
        mine = of_paper(paper, [row["statement"] for row in rows])
        found = _content(paper, [one for one in known if one.id in mine], [row for row in rows if row["statement"] in mine])
        if found["marks"]:
            for ending in ("html", "md"):
                replace_file(folder / f"{paper.name}_picture.{ending}", render(_HERE / f"picture.{ending}.j2", **found).encode())
            written.append(folder / f"{paper.name}_picture.html")
    return written


def _content(paper: Paper, statements: Sequence[Statement], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    marks = {one.id: _mark(one, [row for row in rows if row["statement"] == one.id]) for one in statements}
    checks = [row for row in rows if row["origin"] == ARITHMETIC]
    return {
        "paper": paper, "marks": marks, "tables": tables(paper, statements), "sections": by_source(paper, statements), "states": STATES,
        "counts": Counter(mark.state for mark in marks.values()), "checks": checks,
        "contradictions": [row for row in checks if row["verdict"] == CONTRADICTORY],
    }  # fmt: skip


def _mark(statement: Statement, rows: Sequence[Mapping[str, Any]]) -> PrintedMark:
    counted = [row for row in rows if row["accounting"] != ACCOUNTINGS[1]]
    state = _state(counted)
    style, sign, _ = STATES[state]
    return PrintedMark(statement.text, statement.published, state, style, sign, [_line(row) for row in counted])


def _state(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the one share of all rows that can be judged; of several, whether some hold, else whether all have a cause."""
    shares = {GIVEN if row["origin"] == INPUT and share_of(row) not in SHARES[1:] else share_of(row) for row in rows} - {CANNOT}
    if len(shares) > 1:
        return PARTLY if shares & {REPRODUCED, GIVEN} else SHARES[2]
    return shares.pop() if shares else CANNOT


def _line(row: Mapping[str, Any]) -> str:
    cause = f" Cause: {row['cause']}. {row['experiment']}." if row["cause"] else ""
    setting = "" if row["mode"] == ANY else f"{row['mode']}: "
    return f"{setting}{row['verdict']} {shown(row)}".rstrip() + f"; {row['reason']}.{cause}"
