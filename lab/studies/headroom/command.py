"""python -m lab headroom: compute oracles on the worlds of a board and the headroom of its systems."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from rich.console import Console

from lab.studies.headroom.run import worlds, write_headroom
from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.kinds import CALL


class HeadroomConfig(Config):
    """Oracles on the worlds of a finished leaderboard run, and the headroom above its systems.

    Attributes:
        results: folder of the run with results.parquet; oracles.parquet, headroom.parquet and headroom.md are added, and page and
            leaderboard.md rewritten with anchored scores.
        folder: folder with one file per finished world, in `worlds`; runs may share it.
        threads: threads that share the worlds; no effect on the results.
        data: folder of measured series; needed if the run played them.
        traces: folder or files of your own traces; needed if the run played them.
        offsets: as in that run, for your own traces.
        direct: as in that run, for your own traces.
    """

    results: AbsolutePath = Path("outputs/leaderboard/default")
    folder: AbsolutePath = Path("outputs/headroom")
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    traces: AbsolutePath | Annotated[list[AbsolutePath], Field(min_length=1)] | None = None
    offsets: Literal["own", "common"] = "own"
    direct: str | None = None

    def own_traces(self) -> dict[str, Any]:
        """Arguments of scenario replay for the user's own traces; none without traces."""
        if self.traces is None:
            return {}
        files = self.traces if isinstance(self.traces, list) else [self.traces]
        return {"traces": [str(file) for file in files], "offsets": self.offsets, "direct": self.direct}


def main(config: HeadroomConfig) -> None:
    """Compute the oracles and write the headroom."""
    config.data.export()
    played = results.read(results.RESULTS, config.results / "results.parquet")
    drawn, ranked = worlds(played, config.own_traces()), set(played["system"].to_pylist())
    published = load_systems([name for name in CALL.published if name in ranked])
    with progress("headroom", len(drawn)) as on_progress:
        page = write_headroom(config.results, drawn, published, config.folder, config.threads, on_progress)
    console = Console()
    console.print(f"Headroom: {config.results / 'headroom.md'}", soft_wrap=True)
    console.print(f"Report: {page}", soft_wrap=True)
