"""Ranking of the systems as a function of the correlation time of queueing: tables of ranks, and a figure."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from lab.papers.vcroute.outcomes import Setting
from lab.papers.vcroute.statements import REFERENCE
from vcgym.leaderboard.report.figure import as_svg, strokes, style
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.kinds import CALL
from vcgym.leaderboard.statistics import differences, pair_worlds, rank

ABOUT = "wonderproxy"
PICTURE = "ranking_by_correlation.svg"
RANKED_BY = {
    "event_end_to_end_delay_mean_ms": "mean delay, event",
    "clocked_end_to_end_delay_mean_ms": "mean delay, clocked",
    "r": "R of the call",
}


def ranking(results: Sequence[tuple[Setting, pa.Table]]) -> list[str]:
    """Return Markdown parts: per measure a table of ranks, systems by settings, if its scenario was played."""
    chosen = [(setting, table) for setting, table in results if setting.about == ABOUT]
    if not chosen:
        return []
    parts = [f"## How the ranking moves with the correlation time\n\n![What each system gains, by correlation time]({PICTURE})\n"]
    for metric, what in RANKED_BY.items():
        better = CALL.metric[metric].better
        places = {setting.label: {line.system: line for line in rank(pair_worlds(table), metric, better)} for setting, table in chosen}
        systems = sorted(next(iter(places.values())))
        rows = [[system, *(lines[system].ranks for lines in places.values())] for system in systems]
        heading = f"### Rank by {what}: interquartile mean over worlds, a range where they do not tell\n\n"
        parts.append(heading + markdown_table(["system", *places], rows, text=("system",)))
    return parts


def picture(results: Sequence[tuple[Setting, pa.Table]]) -> str:
    """Return SVG of the gain of each system over `REFERENCE` by correlation time with 95 % intervals; "" without correlated worlds."""
    chosen = [(setting, pair_worlds(table)) for setting, table in results if setting.about == ABOUT and setting.mode == "correlated"]
    if not chosen:
        return ""
    drawn = strokes(dict.fromkeys(set(chosen[0][1].systems) - {REFERENCE}, "rule"))
    with style():
        figure = Figure(figsize=(10.5, 3.4), layout="constrained", facecolor="white")
        for axes, (metric, what) in zip(figure.subplots(1, len(RANKED_BY)), RANKED_BY.items(), strict=True):
            changes = [differences(paired, metric, REFERENCE) for _, paired in chosen]
            for index, (system, stroke) in enumerate(drawn.items()):
                value, low, high = np.array([change[system] for change in changes]).T
                # Taus are evenly spaced, because they span three decades and begin at 0. Systems are side by side.
                x = np.arange(len(chosen)) + 0.12 * (index - (len(drawn) - 1) / 2)
                bars = np.maximum(0.0, (value - low, high - value))
                axes.errorbar(x, value, bars, color=stroke.colour, marker="o", markersize=3.5, linewidth=1.2, label=system)
            axes.axhline(0.0, color="#444444", linewidth=0.8)
            unit = CALL.metric[metric].unit
            axes.set_title(f"{what}{', ' + unit if unit else ''}, against {REFERENCE}", loc="left", fontsize=10.0)
            axes.set_xticks(range(len(chosen)), [f"{setting.arguments['tau_ms']:g}" for setting, _ in chosen])
            axes.set_xlabel("correlation time, ms")
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.spines[:].set_visible(False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False)
        return as_svg(figure)
