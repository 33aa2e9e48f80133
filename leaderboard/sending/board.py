"""Boards of senders as text: rank, metrics, and the primary metric kind by kind; rich tables and Markdown.

Ranks go by the mean over kinds of the primary metric. A rank is a range: 1 + those that are better with 95 % confidence in paired runs, to
all less those that are worse. There is no correction for the number of pairs, and the footnote says so. An oracle has no rank.
"""

from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.columns import Column
from vcgym.leaderboard.sending.columns import METRIC
from vcgym.leaderboard.sending.intervals import interval
from vcgym.leaderboard.sending.suites import SendingSuite
from vcgym.leaderboard.statistics import Estimate

SHOWN = ("audio_on_time", "video_on_time", "r", "utility", "throughput_kbps", "utilisation", "delay_p50_ms", "delay_p95_ms", "queueing_ms",
         "lost", "unsent")  # fmt: skip
KIND_METRICS = {
    "order-v0": ("audio_on_time", "video_on_time", "audio_late", "video_late"),
    "rate-v0": ("utility", "throughput_kbps", "delay_p95_ms", "audio_on_time"),
    "calls-v0": ("utility", "throughput_kbps", "delay_p95_ms", "audio_on_time"),
}
_ABREAST = 6
_TEXT = ("rank", "system")
_Text = tuple[str, list[str], list[list[str]]]  # title, headings, rows


def values(results: pa.Table, system: str, metric: str, kind: tuple[str, str] | None = None) -> list[np.ndarray]:
    """(runs,) of each kind, or of one, in order of seeds."""
    rows = results.filter(pc.field("system") == system).sort_by([("scenario", "ascending"), ("kind", "ascending"), ("seed", "ascending")])
    names = list(zip(rows["scenario"].to_pylist(), rows["kind"].to_pylist(), strict=True))
    column = rows[metric].to_numpy()
    return [column[[name == one for name in names]] for one in ([kind] if kind else dict.fromkeys(names))]


def ranks(results: pa.Table, metric: str, oracles: Collection[str]) -> dict[str, str]:
    """Systems, best first, with the ranks that the runs allow; an oracle has none."""
    better = METRIC[metric].better
    found = {name: values(results, name, metric) for name in sorted(set(results["system"].to_pylist()))}
    order = sorted(found, key=lambda name: -better * interval(found[name]).value)
    ranked = [name for name in order if name not in oracles]
    shown = dict.fromkeys(order, "")
    for name in ranked:
        gaps = [_gap(found[name], found[other], better) for other in ranked if other != name]
        low, high = 1 + sum(gap.high < 0.0 for gap in gaps), len(ranked) - sum(gap.low > 0.0 for gap in gaps)
        shown[name] = str(low) if low == high else f"{low}-{high}"
    return shown


def ahead(results: pa.Table, metric: str, system: str, other: str) -> Estimate:
    """By how much a system is better than another, in paired runs."""
    return _gap(values(results, system, metric), values(results, other, metric), METRIC[metric].better)


def _gap(ours: list[np.ndarray], theirs: list[np.ndarray], better: int) -> Estimate:
    return interval([better * (one - other) for one, other in zip(ours, theirs, strict=True)])


def show(suite: SendingSuite, results: pa.Table, oracles: Collection[str], console: Console) -> None:
    """Print the board."""
    for title, headings, rows in _tables(suite, results, oracles, _ABREAST):
        table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for heading in headings:
            table.add_column(heading.replace(" ", "\n"), justify="left" if heading in _TEXT else "right", no_wrap=True)
        for row in rows:
            table.add_row(*(cell.replace("[", r"\[") for cell in row))
        console.print(table)
    console.print(_footnote(suite), style="dim", highlight=False)


def markdown(suite: SendingSuite, results: pa.Table, oracles: Collection[str]) -> str:
    """The same as Markdown."""
    parts = [f"# Senders, {suite.name}\n"]
    for title, headings, rows in _tables(suite, results, oracles, 100):
        parts += [f"## {title}\n", markdown_table(headings, rows, _TEXT)]
    return "\n".join([*parts, _footnote(suite) + "\n"])


def _tables(suite: SendingSuite, results: pa.Table, oracles: Collection[str], abreast: int) -> Iterable[_Text]:
    order = ranks(results, suite.primary, oracles)
    columns = [METRIC[suite.primary], *(METRIC[name] for name in SHOWN if name != suite.primary)]
    kinds = list(dict.fromkeys(zip(results["scenario"].to_pylist(), results["kind"].to_pylist(), strict=True)))
    rows = [
        [rank, name, _with_ends(columns[0], interval(values(results, name, columns[0].name))),
         *(_plain(column, interval(values(results, name, column.name)).value) for column in columns[1:])]
        for name, rank in order.items()
    ]  # fmt: skip
    yield f"{suite.name}: mean over {len(kinds)} kinds of {suite.runs} runs", ["rank", "system", *map(_heading, columns)], rows
    for metric in KIND_METRICS[suite.name]:
        column = METRIC[metric]
        for first in range(0, len(kinds), abreast):
            few = kinds[first : first + abreast]
            cells = [[name, *(_half(column, interval(values(results, name, metric, kind))) for kind in few)] for name in order]
            yield f"{suite.name}: {column.label}, {column.unit or 'points'}", ["system", *(kind for _, kind in few)], cells


def _footnote(suite: SendingSuite) -> str:
    return (
        f"Ranked by {METRIC[suite.primary].label}: {METRIC[suite.primary].about}. Intervals: 95 %, Student's law over runs; a rank is a "
        "range of what paired differences allow, not corrected for the number of pairs. An oracle has no rank."
    )


def _heading(column: Column) -> str:
    return f"{column.label} {column.unit}".strip()


def _scaled(column: Column, value: float) -> float:
    return 100.0 * value if column.unit == "%" else value


def _plain(column: Column, value: float) -> str:
    return f"{_scaled(column, value):,.{column.decimals}f}"


def _with_ends(column: Column, estimate: Estimate) -> str:
    return f"{_plain(column, estimate.value)} [{_plain(column, estimate.low)}, {_plain(column, estimate.high)}]"


def _half(column: Column, estimate: Estimate) -> str:
    return f"{_plain(column, estimate.value)} ±{_plain(column, (estimate.high - estimate.low) / 2.0)}"
