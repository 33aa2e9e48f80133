"""Verdicts as rows of a file: `verdicts.parquet` of one paper, `sending_verdicts.parquet` of others."""

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lab.papers.judge import REPRODUCED, judge
from lab.papers.statements import Statement
from vcgym.leaderboard.results.files import FileLayout
from vcgym.leaderboard.statistics import Estimate

INPUT, OUTCOME = "input", "outcome"
ANY = "any"  # accounting of quantities other than packet delays
NOTHING = Estimate(math.nan, math.nan, math.nan)

_COLUMNS = dict.fromkeys(("statement", "source", "kind", "text", "mode", "accounting", "published"), "string") | {
    "ours": "float64", "low": "float64", "high": "float64", "unit": "string", "verdict": "string", "reason": "string", "origin": "string",
    "cause": "string", "experiment": "string",
}  # fmt: skip
VERDICTS = FileLayout(
    pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=False) for name, kind in _COLUMNS.items()]),
    ("statement", "mode", "accounting"),
)
"""`low` and `high` are the ends of the 95 % interval of `ours`, all three NaN where nothing of ours can be had.

`cause` and `experiment` are "" but for verdicts with a cause; see `lab.papers.causes`.
`origin` is INPUT where the number is one that we put in ourselves, so that it is reproduced by construction, else OUTCOME.
"""


def verdict_row(
    statement: Statement, mode: str, ours: Estimate, unit: str, *, accounting: str = ANY, is_input: bool = False,
    cannot: tuple[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the row of `VERDICTS` for one statement in one mode.

    Args:
        statement: statement to judge.
        mode: kind of worlds.
        ours: our measured value.
        unit: unit of `ours`; shares in "%" or "points" are shown times 100.
        accounting: accounting of packet delays.
        is_input: true if the number is one of our inputs.
        cannot: verdict and reason if nothing could be measured.
    """
    verdict, reason = cannot or judge(statement, ours)
    noted = f"{reason}; {statement.note}" if statement.note and reason != statement.note else reason
    return {
        "statement": statement.id, "source": statement.source, "kind": statement.kind, "text": statement.text, "mode": mode,
        "accounting": accounting, "published": statement.published, "ours": ours.value, "low": ours.low, "high": ours.high,
        "unit": unit, "verdict": verdict, "reason": noted, "origin": INPUT if is_input else OUTCOME,
        "cause": "", "experiment": "",
    }  # fmt: skip


def verdict_cell(row: Mapping[str, Any], explain: bool) -> str:
    """Return the cell of a verdict in a table: the word (bold if reproduced), the value, and the reason with its cause if `explain`."""
    word = f"**{row['verdict']}**" if row["verdict"] == REPRODUCED else row["verdict"]
    cause = f" ({row['cause']})" if row["cause"] else ""
    return f"{word} {shown(row)}".rstrip() + (f": {row['reason']}{cause}" if explain else "")


def shown(row: Mapping[str, Any]) -> str:
    """Return value and interval of a row as text; the interval is omitted if it equals the value; "" without a value."""
    return estimate_text(Estimate(row["ours"], row["low"], row["high"]), row["unit"])


def estimate_text(ours: Estimate, unit: str) -> str:
    """Return value and interval as text; shares in "%" or "points" times 100; the interval is omitted if it equals the value."""
    if math.isnan(ours.value):
        return ""
    factor, digits = (100.0, 3) if unit in ("%", "points") else (1.0, 4)
    value, low, high = (f"{factor * number:.{digits}g}" for number in ours)
    interval = "" if low == high or math.isnan(ours.low) else f" [{low}, {high}]"
    return f"{value}{interval} {unit}".rstrip()
