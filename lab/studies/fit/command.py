"""python -m lab told_apart: tell worlds drawn of a fit from the series it was fitted to. See lab/conf/told_apart.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.fit.told_apart import FEATURES, Likeness, Told, likeness
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.report.table import markdown_table
from vcgym.network.scenarios.paths.shipped_series import PINGS, read_series
from vcgym.network.traces.plain_file import replace_file
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, read_trace
from vcgym.scripts.console.command import command

_HEAD = ("series", "windows", "from the fitted half", "by", "from the other half", "by", "the halves themselves", "by")
_SHOWN = ("step", "largest step", "lag 1", "lag 5", "rise over fall", "peak")


class ToldApartConfig(Config):
    """Series that are fitted, drawn and told apart.

    Attributes:
        traces: folder of trace files, or files; None: the satellite pings that ship. Each is judged alone, and one that is too short for a
            fit stops the run.
        folder: folder of the page, told_apart.md.
        probes: probes of a window.
        seed: seed of worlds and classifiers.
    """

    traces: AbsolutePath | Annotated[list[AbsolutePath], Field(min_length=1)] | None = None
    folder: AbsolutePath = Path("outputs/told_apart")
    probes: Annotated[int, Field(ge=25, le=1000)] = 50
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 77

    def series(self) -> list[Trace]:
        """Return the series to judge.

        Raises:
            DataError: a file is missing or broken.
        """
        if self.traces is None:
            return list(read_series(PINGS).values())
        given = self.traces if isinstance(self.traces, list) else [self.traces]
        return [read_trace(file) for one in given for file in (sorted(one.glob(f"*{ENDING}")) if one.is_dir() else [one])]


@command("told_apart", ToldApartConfig, LAB)
def main(config: ToldApartConfig) -> None:
    """Judge each series and write the page."""
    series, found = config.series(), []
    with progress("told apart", len(series)) as on_progress:
        for number, trace in enumerate(series, 1):
            found.append(likeness(trace, config.probes, config.seed))
            on_progress(number, trace.name)
    config.folder.mkdir(parents=True, exist_ok=True)
    replace_file(config.folder / "told_apart.md", page(found).encode())
    Console().print(f"Told apart: {config.folder / 'told_apart.md'}", soft_wrap=True)


def page(found: list[Likeness]) -> str:
    """Return the accuracies of all series, then the median window of each."""
    told = (
        (one.series, str(one.halves.windows), *(text for part in (one.from_fitted, one.from_other, one.halves) for text in _words(part)))
        for one in found
    )
    columns = [FEATURES.index(name) for name in _SHOWN]
    medians = (
        (one.series, which, *(f"{values[column]:.3g}" for column in columns))
        for one in found
        for which, values in zip(("drawn", "measured", "other half"), one.medians, strict=True)
    )
    head = ("median window of", "", *_SHOWN)
    tables = markdown_table(_HEAD, told, text=_HEAD), markdown_table(head, medians, text=head)
    return "# Drawn windows told from measured ones\n\n" + "\n\n".join(tables) + "\n"


def _words(told: Told) -> tuple[str, str]:
    return f"{told.accuracy:.2f}", f"{told.feature} {told.alone:.2f}"
