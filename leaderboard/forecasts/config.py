"""Arguments of the two predictor commands."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.predictors.dnn import Dnn
from vcgym.predictors.rows import Holdout, Jitter

Seed = Annotated[int, Field(ge=0, lt=2**31)]


class DataPart(Config):
    """Sessions of one scenario in one mode: `seeds` worlds for each of its pairs, or for `pairs` evenly spaced ones."""

    scenario: str
    mode: str
    seeds: Annotated[int, Field(ge=1)] = 2
    pairs: Annotated[int, Field(ge=1)] | None = None


DEFAULT_PARTS = (
    DataPart(scenario="wonderproxy", mode="paper"),
    DataPart(scenario="cloud", mode="paper", seeds=3),
    DataPart(scenario="wonderproxy", mode="correlated", seeds=4),
    DataPart(scenario="cloud", mode="correlated", seeds=6),
    DataPart(scenario="leo", mode="replay", seeds=30),
)


class PredictorDataConfig(Config):
    """A data set of packets.

    Attributes:
        parts: parts to play; those in mode replay need measured series.
        systems: names of systems; each system plays every world.
        splits: splits of the worlds. Predictors train only on rows of the training split; other rows are for testing.
        packets: length of the calls.
        rows: approximate number of rows, shared evenly among the parts and, within a part, among the calls.
        threads: threads that share the calls; no effect on the rows.
        data: folder of measured series.
        folder: folder for rows.parquet and card.json.
    """

    parts: list[DataPart] = Field(list(DEFAULT_PARTS), min_length=1)
    systems: list[str] = Field(["VCRL-WM", "VIA-WM", "DRT-WM", "GRD-WM", "VCR-BF", "VCR-NEQ"], min_length=1)
    splits: list[Literal["train", "validation", "test"]] = Field(["train"], min_length=1)
    packets: Annotated[int, Field(ge=100, le=1_000_000)] = 3000
    rows: Annotated[int, Field(ge=1)] = 360_000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/predictor/data")

    @field_validator("parts")
    @classmethod
    def _exist(cls, parts: list[DataPart]) -> list[DataPart]:
        from vcgym.network.scenarios.scenario import MODES  # imported here: it loads the worlds

        for part in parts:
            if part.mode not in MODES.get(part.scenario, ()):
                allowed = ", ".join(f"{name} {kinds}" for name, kinds in MODES.items())
                raise ValueError(f"scenario {part.scenario!r} in mode {part.mode!r}; allowed: {allowed}")
        return parts


class TrainPredictorConfig(Config):
    """Training of the network of the VCRoute paper.

    Attributes:
        network: loss of the network and settings of its training.
        rows: file of training rows; `vcgym predictor-data` makes one.
        worlds: patterns of "scenario/mode", one of which must match a row.
        receivers: receivers whose rows are used; None: all. The two inputs do not identify the kind of receiver.
        jitter: the second input: a reading of Algorithm 2.
        holdout: way to hold out the rows of the scores, see `vcgym.predictors.rows`.
        seed: seed of the holdout and of the training.
        study: name of the run.
        folder: folder of everything the training writes except the tracking database.
        resume: train again in a `folder` that holds this training.
    """

    network: Dnn = Field(default_factory=Dnn)
    rows: AbsolutePath = Path("outputs/predictor/data/rows.parquet")
    worlds: list[str] = Field(["*/paper", "*/correlated"], min_length=1)
    receivers: list[str] | None = Field(["WMJitter"], min_length=1)
    jitter: Jitter = "lag"
    holdout: Holdout = "random"
    seed: Seed = 0
    study: Annotated[str, Field(min_length=1)] = "predictor"
    folder: AbsolutePath = Path("outputs/predictor/network")
    resume: bool = True
