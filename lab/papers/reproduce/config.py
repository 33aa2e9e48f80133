"""Arguments of python -m lab reproduce: typed counterpart of conf/reproduce.yaml."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


class ReproduceConfig(Config):
    """Comparison of published numbers with ours.

    Attributes:
        paper: the VCRoute paper; the papers on senders, SBPN and GCC over Wi-Fi; or Celerity's on conferences. The other fields except
            `folder` apply only to the first.
        full: use the paper's call length, 600,000 packets, instead of `packets`.
        packets: length of the calls of a quick run.
        seeds: worlds per pair; with one, statements about a single pair have no interval.
        min_worlds: minimum number of worlds of a scenario with few pairs.
        threads: threads that share the calls; no effect on the results.
        data: folder of measured series; without it mode replay is left out.
        folder: folder for the parts, verdicts.parquet, reproduce.html and reproduction.md; or sending_verdicts.parquet and
            sending_reproduction.md; or conference_verdicts.parquet and conference_reproduction.md.
    """

    paper: Literal["vcroute", "senders", "conferences"] = "vcroute"
    full: bool = False
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    min_worlds: Annotated[int, Field(ge=1, le=10_000)] = 30
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/reproduce")

    @property
    def call_packets(self) -> int:
        """Length of the calls."""
        return PAPER_PACKETS if self.full else self.packets


PAPER_PACKETS = 600_000
