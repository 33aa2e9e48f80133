"""Arguments of vcgym-reproduce: typed counterpart of conf/reproduce.yaml."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


class ReproduceConfig(Config):
    """Published numbers beside ours.

    Attributes:
        paper: the VCRoute paper; the papers on senders, SBPN and GCC over Wi-Fi; or the study of Zoom, Meet and Teams. The other fields
            but `folder` are of VCRoute's.
        full: calls as long as the paper's, 600,000 packets, instead of `packets`.
        packets: length of the calls of a quick run.
        seeds: worlds per pair; one leaves statements about a single pair without an interval.
        least: worlds of a scenario with few pairs.
        threads: how many threads share the calls; without effect on the results.
        data: where measured series lie; without them mode replay is left out.
        folder: receives the parts, verdicts.parquet, reproduce.html and reproduction.md; or sending_verdicts.parquet and
            sending_reproduction.md; or application_verdicts.parquet and application_reproduction.md.
    """

    paper: Literal["vcroute", "senders", "applications"] = "vcroute"
    full: bool = False
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    least: Annotated[int, Field(ge=1, le=10_000)] = 30
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/reproduce")

    @property
    def call_packets(self) -> int:
        """Length of the calls."""
        return PAPER_PACKETS if self.full else self.packets


PAPER_PACKETS = 600_000
