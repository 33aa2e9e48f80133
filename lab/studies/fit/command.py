"""python -m lab told_apart: worlds drawn of a fit next to the series it was fitted to. See lab/conf/told_apart.yaml."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.fit.ranked_alike import SYSTEMS, ranked_alike
from lab.studies.fit.told_apart import FEATURES, Likeness, Told, halves, likeness
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.report.table import markdown_table
from vcgym.network.fitting.traces import fit_path, observed
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS, read_series
from vcgym.network.traces.cards import DATA_VARIABLE, data_root
from vcgym.network.traces.plain_file import replace_file
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, read_trace
from vcgym.scripts.console.command import command
from vcgym.scripts.importing.fit import compared

_SHOWN = ("step", "largest step", "lag 1", "lag 5", "rise over fall", "peak")
_HEADS = {
    "Windows told apart": ("series", "windows", "from the fitted half", "by", "from the other half", "by", "the halves themselves", "by"),
    "The median window": ("series", "", *_SHOWN),
    "Ranked alike": ("fitted to", "of", "direct path", "drawn", "drawn, other seeds", "replay"),
    "Measured next to drawn, first half": ("series", "statistic", "drawn", "measured", "agrees from", "to", "agrees"),
}
_TOLD, _MEDIAN, _RANKED, _AGREES = _HEADS
_DRIVES = {"5g-urban-20": ("urban_v20_1_n8", "urban_v20_1_n78"), "5g-urban-30": ("urban_v30_1_n8", "urban_v30_1_n78")}


class ToldApartConfig(Config):
    """Sets of series that are fitted, drawn, told apart and ranked on; the series of a set are the paths of a call.

    Attributes:
        traces: folder of trace files, or files, as one set; None: the satellite pings and two pairs of 5G drives that ship, and the
            satellite series under VCGYM_DATA where it is set. A series that is too short for a fit stops the run.
        folder: folder of the page, told_apart.md, and of what is known of each set, SET.json, so that a stopped run goes on.
        probes: probes of a window.
        calls: calls of 30 s on which systems are ranked; 0: no ranking.
        seed: seed of worlds and classifiers.
    """

    traces: AbsolutePath | Annotated[list[AbsolutePath], Field(min_length=1)] | None = None
    folder: AbsolutePath = Path("outputs/told_apart")
    probes: Annotated[int, Field(ge=25, le=1000)] = 50
    calls: Annotated[int, Field(ge=0, le=10_000)] = 64
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 77

    def sets(self, root: Path | None) -> dict[str, list[Trace]]:
        """Return the series of each set.

        Raises:
            DataError: a file is missing or broken.
        """
        if self.traces is None:
            drives = read_series(DRIVES)
            shipped = {"starlink-ping": [*read_series(PINGS).values()]} | {
                name: [drives[one] for one in names] for name, names in _DRIVES.items()
            }
            return shipped | ({"leo": [*map(read_trace, leo.files(root))]} if root else {})
        given = self.traces if isinstance(self.traces, list) else [self.traces]
        return {"traces": [read_trace(file) for one in given for file in (sorted(one.glob(f"*{ENDING}")) if one.is_dir() else [one])]}


@command("told_apart", ToldApartConfig, LAB)
def main(config: ToldApartConfig) -> None:
    """Judge each set that is not known yet, and write the page."""
    sets, found = config.sets(data_root() if os.environ.get(DATA_VARIABLE) else None), []
    config.folder.mkdir(parents=True, exist_ok=True)
    with progress("told apart", len(sets)) as on_progress:
        for number, (name, series) in enumerate(sets.items(), 1):
            kept = config.folder / f"{name}.json"
            if not kept.exists():
                replace_file(kept, json.dumps(judged(name, series, config)).encode())
            found.append(json.loads(kept.read_text(encoding="utf-8")))
            on_progress(number, name)
    replace_file(config.folder / "told_apart.md", page(found, config).encode())
    Console().print(f"Told apart: {config.folder / 'told_apart.md'}", soft_wrap=True)


def judged(name: str, series: Sequence[Trace], config: ToldApartConfig) -> dict[str, list[list[str]]]:
    """Return the rows of each table of a set."""
    rows: dict[str, list[list[str]]] = {head: [] for head in _HEADS}
    for trace in series:
        _judge(likeness(trace, config.probes, config.seed), rows)
        path = observed(trace.name, halves(trace)[0])
        for one in compared(path, fit_path(path)):
            numbers = (f"{value:.3g}" for value in (one.drawn, one.measured, *one.agreeing))
            rows[_AGREES].append([trace.name, one.name, *numbers, "yes" if one.agrees else "no"])
    for direct in (0, len(series) - 1) if config.calls and len(series) > 1 else ():
        ordered = [series[direct], *(one for one in series if one is not series[direct])]
        for alike in ranked_alike(ordered, config.calls):
            numbers = (f"{value:.2f}" for value in (*alike.drawn, alike.replay))
            rows[_RANKED].append([alike.half, name, alike.direct, *numbers])
    return rows


def _judge(one: Likeness, rows: dict[str, list[list[str]]]) -> None:
    told = (text for part in (one.from_fitted, one.from_other, one.halves) for text in _words(part))
    rows[_TOLD].append([one.series, str(one.halves.windows), *told])
    columns = [FEATURES.index(name) for name in _SHOWN]
    for which, values in zip(("drawn", "measured", "other half"), one.medians, strict=True):
        rows[_MEDIAN].append([one.series, which, *(f"{values[column]:.3g}" for column in columns)])


def page(found: Sequence[dict[str, Any]], config: ToldApartConfig) -> str:
    """Return the tables of all sets."""
    about = {
        _TOLD: f"Accuracy of a forest on windows of {config.probes} probes, 0.5 is chance; behind it the feature that tells most alone.",
        _MEDIAN: "Milliseconds one way; correlations at a lag of 1 and 5 probes.",
        _RANKED: f"Spearman's correlation of the mean R of {len(SYSTEMS)} systems, {config.calls} calls of 30 s, with the replay of the "
        "other half: on worlds drawn of a half, for two sets of seeds, and on the replay of that half.",
        _AGREES: "As `vcgym-data do=fit` prints it: the median of nine worlds, and which measured values agree with them.",
    }
    parts = ["# Drawn worlds next to measured ones\n\nMade by `python -m lab told_apart`, but for the last section; do not edit.\n"]
    for head, columns in _HEADS.items():
        if rows := [row for one in found for row in one[head]]:
            parts.append(f"## {head}\n\n{about[head]}\n\n{markdown_table(columns, rows, text=columns)}\n")
    return "\n".join(parts)


def _words(told: Told) -> tuple[str, str]:
    return f"{told.accuracy:.2f}", f"{told.feature} {told.alone:.2f}"
