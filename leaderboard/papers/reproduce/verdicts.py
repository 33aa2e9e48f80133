"""From calls to verdicts: each statement in each mode, and `verdicts.parquet`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from vcgym.leaderboard.papers.reproduce import published as p
from vcgym.leaderboard.papers.reproduce.measures import Material, MissingError, measured
from vcgym.leaderboard.papers.reproduce.parts import MEDIAN, MODES
from vcgym.leaderboard.papers.reproduce.rules import CANNOT, NOT, REPRODUCED, judge
from vcgym.leaderboard.papers.truth.outcomes import STATISTICS
from vcgym.leaderboard.results.cdf import ACCOUNTINGS
from vcgym.leaderboard.results.files import Layout
from vcgym.leaderboard.statistics import Estimate

WORDS = (REPRODUCED, NOT, CANNOT)
INPUT, OUTCOME = "input", "outcome"
ANY = "any"  # accounting of what is no delay of a packet

_COLUMNS = dict.fromkeys(("statement", "source", "kind", "text", "mode", "accounting", "published"), "string") | {
    "ours": "float64", "low": "float64", "high": "float64", "unit": "string", "verdict": "string", "reason": "string", "origin": "string",
}  # fmt: skip
VERDICTS = Layout(
    pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=False) for name, kind in _COLUMNS.items()]),
    ("statement", "mode", "accounting"),
)
"""`verdicts.parquet`; `low` and `high` are the ends of the 95 % interval of `ours`, all three NaN where nothing of ours can be had.

`origin` is INPUT where the number is one that we put in ourselves, so that it is reproduced by construction, else OUTCOME.
"""

Worlds = Mapping[tuple[str, str], Material]
"""Scenario and mode to what was played there."""


def scenario_of(statement: p.Statement) -> str | None:
    """Return the scenario whose calls a statement is about, None if it is about none."""
    measure = statement.measure
    return "table1" if isinstance(measure, p.Link) else getattr(measure, "scenario", None)


def verdicts(statements: Iterable[p.Statement], worlds: Worlds, cost_ms: float) -> list[dict[str, Any]]:
    """Return a row per statement, mode and accounting, in that order; the columns are those of `VERDICTS`.

    Args:
        statements: of `vcgym.leaderboard.papers.reproduce.published.load_published`.
        worlds: what was played.
        cost_ms: time of a packet by a clock.
    """
    nothing = Material(None, None, None)
    return [
        row
        for statement in statements
        for mode in _modes(statement)
        for row in _rows(statement, mode, worlds.get((scenario_of(statement) or "", mode), nothing)._replace(cost_ms=cost_ms))
    ]


def _modes(statement: p.Statement) -> tuple[str, ...]:
    return (MODES[0], MEDIAN, *MODES[1:]) if scenario_of(statement) == "wonderproxy" else MODES


def _rows(statement: p.Statement, mode: str, material: Material) -> Iterator[dict[str, Any]]:
    measure = statement.measure
    for accounting in ACCOUNTINGS if _counts_delays(measure) else (ANY,):
        try:
            ours = measured(measure, material, accounting)
            verdict, reason = judge(statement, ours)
        except MissingError as missing:
            ours, verdict, reason = Estimate(*[float("nan")] * 3), CANNOT, str(missing)
        noted = f"{reason}; {statement.note}" if statement.note and reason != statement.note else reason
        yield {
            "statement": statement.id, "source": statement.source, "kind": statement.kind, "text": statement.text, "mode": mode,
            "accounting": accounting, "published": statement.published, "ours": ours.value, "low": ours.low, "high": ours.high,
            "unit": unit_of(measure), "verdict": verdict, "reason": noted, "origin": INPUT if isinstance(measure, p.INPUTS) else OUTCOME,
        }  # fmt: skip


def _counts_delays(measure: Any) -> bool:
    if isinstance(measure, p.Value | p.Change):
        return "{}" in STATISTICS[measure.statistic].column
    return isinstance(measure, p.Worst | p.BestPair | p.GainGap)


def unit_of(measure: Any) -> str:
    """Return the unit ours is shown in; a share is shown in percent, a change of shares in percentage points."""
    if isinstance(measure, p.Change):
        return "points" if not measure.relative and STATISTICS[measure.statistic].unit == "%" else "%"
    if isinstance(measure, p.Value):
        return STATISTICS[measure.statistic].unit
    if isinstance(measure, p.Worst | p.BestPair | p.GainGap):
        return "%"
    if isinstance(measure, p.Path | p.DirectRange | p.Cost):
        return "ms"
    if isinstance(measure, p.Link | p.Forecast):
        return "ms" if measure.what.endswith("_ms") else "%" if measure.what != "r2" else ""
    return ""


def shares(rows: Iterable[Mapping[str, Any]], late_learns: bool) -> dict[str, dict[str, int]]:
    """Count statements that were reproduced, were not, and cannot be judged, by mode, in the paper's accounting, our inputs left out.

    Args:
        rows: of `verdicts`.
        late_learns: take statements about WMJitter in the reading of the published code, not in that of the listing.
    """
    rows = list(rows)
    read_twice = {row["statement"].removesuffix(p.LATE_LEARNS) for row in rows if row["statement"].endswith(p.LATE_LEARNS)}
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        name = row["statement"]
        read = name.endswith(p.LATE_LEARNS) == late_learns if name.removesuffix(p.LATE_LEARNS) in read_twice else True
        if read and row["accounting"] in (ANY, ACCOUNTINGS[0]) and row["origin"] == OUTCOME:
            counts.setdefault(row["mode"], dict.fromkeys(WORDS, 0))[row["verdict"]] += 1
    return counts


def shown(value: float, unit: str) -> str:
    """Return a value of ours as tables show it; "" for NaN."""
    if value != value:
        return ""
    if unit in ("%", "points"):
        return f"{100.0 * value:.3g}"
    return f"{value:.4g}"
