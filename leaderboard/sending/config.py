"""What vcgym-sending takes: typed counterpart of conf/sending.yaml."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


class SendingConfig(Config):
    """Play senders on shared bottlenecks.

    Attributes:
        do: play a suite, put S1 and S4 beside ours, or let calls of each rule share a bottleneck.
        suite: which one.
        senders: names of files of conf/sender, at least one; None: all but those that were tuned for another suite.
        agents: by the name on the board, folders of finished studies of Rate or SendOrder (`vcgym-train folder=...`), every seed of them.
        data: where measured capacity traces lie; without them their kinds are left out.
        folder: receives sending.parquet and sending.md, or sending_verdicts.parquet and sending_reproduction.md, or sending_fairness.md.
    """

    do: Literal["play", "reproduce", "fairness"] = "play"
    suite: Literal["order-v0", "rate-v0", "calls-v0"] = "order-v0"
    senders: Annotated[list[str], Field(min_length=1)] | None = None
    agents: dict[str, AbsolutePath] = Field(default_factory=dict)
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/sending")
