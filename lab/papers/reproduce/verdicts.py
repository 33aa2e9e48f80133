"""Verdicts on each statement of the VCRoute paper in each mode, from calls."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lab.papers.causes import SHARES, share_of
from lab.papers.judge import CANNOT
from lab.papers.reproduce.parts import MEDIAN, MODES
from lab.papers.vcroute import statements as p
from lab.papers.vcroute.measures import Material, MissingError, measured
from lab.papers.vcroute.outcomes import STATISTICS
from lab.papers.vcroute.statements import VCRouteStatement, scenario_of
from lab.papers.verdicts import ANY, NOTHING, OUTCOME, verdict_row
from vcgym.leaderboard.results.cdf import ACCOUNTINGS

Worlds = Mapping[tuple[str, str], Material]
"""Scenario and mode to what was played there."""


def verdicts(statements: Iterable[VCRouteStatement], worlds: Worlds, cost_ms: float) -> list[dict[str, Any]]:
    """Return a row of `lab.papers.verdicts.VERDICTS` per statement, mode and accounting, in that order.

    Args:
        statements: result of `lab.papers.vcroute.statements.load_statements`.
        worlds: played worlds.
        cost_ms: measured time per packet.
    """
    nothing = Material(None, None, None)
    return [
        row
        for statement in statements
        for mode in _modes(statement)
        for row in _rows(statement, mode, worlds.get((scenario_of(statement) or "", mode), nothing)._replace(cost_ms=cost_ms))
    ]


def _modes(statement: VCRouteStatement) -> tuple[str, ...]:
    return (MODES[0], MEDIAN, *MODES[1:]) if scenario_of(statement) == "wonderproxy" else MODES


def _rows(statement: VCRouteStatement, mode: str, material: Material) -> Iterator[dict[str, Any]]:
    for accounting in ACCOUNTINGS if _counts_delays(statement.measure) else (ANY,):
        yield verdict_in(statement, mode, material, accounting)


def verdict_in(statement: VCRouteStatement, mode: str, material: Material, accounting: str) -> dict[str, Any]:
    """Return the row of one statement in one mode and accounting of packet delays."""
    measure = statement.measure
    try:
        ours, cannot = measured(measure, material, accounting), None
    except MissingError as missing:
        ours, cannot = NOTHING, (CANNOT, str(missing))
    is_input = isinstance(measure, p.INPUTS)
    return verdict_row(statement, mode, ours, unit_of(measure), accounting=accounting, is_input=is_input, cannot=cannot)


def _counts_delays(measure: Any) -> bool:
    if isinstance(measure, p.StatisticFigure | p.Change):
        return "{}" in STATISTICS[measure.statistic].column
    return isinstance(measure, p.Worst | p.BestPair | p.GainGap)


def unit_of(measure: Any) -> str:
    """Return the unit of our displayed value: percent for a share, percentage points for a change of shares."""
    if isinstance(measure, p.Change):
        return "points" if not measure.relative and STATISTICS[measure.statistic].unit == "%" else "%"
    if isinstance(measure, p.StatisticFigure):
        return STATISTICS[measure.statistic].unit
    if isinstance(measure, p.Worst | p.BestPair | p.GainGap):
        return "%"
    if isinstance(measure, p.PublishedPath | p.DirectRange | p.Cost):
        return "ms"
    if isinstance(measure, p.LinkFigure | p.ForecastFigure):
        return "ms" if measure.what.endswith("_ms") else "%" if measure.what != "r2" else ""
    return ""


def shares(rows: Iterable[Mapping[str, Any]], late_learns: bool) -> dict[str, dict[str, int]]:
    """Count statements by mode and `lab.papers.causes.SHARES` in the paper's own accounting, without our inputs.

    Args:
        rows: verdicts with causes.
        late_learns: use the reading of the published code for statements about WMJitter, not that of the listing.
    """
    rows = list(rows)
    read_twice = {row["statement"].removesuffix(p.LATE_LEARNS) for row in rows if row["statement"].endswith(p.LATE_LEARNS)}
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        name = row["statement"]
        read = name.endswith(p.LATE_LEARNS) == late_learns if name.removesuffix(p.LATE_LEARNS) in read_twice else True
        if read and row["accounting"] in (ANY, ACCOUNTINGS[0]) and row["origin"] == OUTCOME:
            counts.setdefault(row["mode"], dict.fromkeys(SHARES, 0))[share_of(row)] += 1
    return counts
