"""Arguments of vcgym-headroom: typed counterpart of conf/headroom.yaml."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


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

    results: AbsolutePath = Path("outputs/leaderboard/quick-v2")
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


class OracleCheckConfig(Config):
    """Comparison of systems on random worlds with the bounds of their oracles.

    Attributes:
        systems: names of systems over paths; None: all.
        worlds: number of worlds of the training split; the scenarios of `vcgym.leaderboard.headroom.check.SCENARIOS` take turns.
        packets: length of the calls.
        per_world: systems that play each world, in turn.
        first: seed of the first world.
    """

    systems: Annotated[list[str], Field(min_length=1)] | None = None
    worlds: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    packets: Annotated[int, Field(ge=100, le=60_000)] = 300
    per_world: Annotated[int, Field(ge=1, le=100)] = 2
    first: Annotated[int, Field(ge=0)] = 100_000
