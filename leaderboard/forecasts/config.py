"""Arguments of the two predictor commands: typed counterparts of conf/predictor_data.yaml and conf/train_predictor.yaml."""

from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import yaml
from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.network.scenarios.scenario import MODES
from vcgym.predictors.study.methods import AnyMethod
from vcgym.predictors.study.partition import Holdout
from vcgym.predictors.study.rows import Jitter, Transmit

Seed = Annotated[int, Field(ge=0, lt=2**31)]


class DataPart(Config):
    """Sessions of one scenario in one mode: `seeds` worlds for each of its pairs, or for `pairs` evenly spaced ones."""

    scenario: str
    mode: str
    seeds: Annotated[int, Field(ge=1)] = 2
    pairs: Annotated[int, Field(ge=1)] | None = None

    @field_validator("mode")
    @classmethod
    def _exists(cls, mode: str, info: Any) -> str:
        scenario = info.data.get("scenario")
        if scenario not in MODES or mode not in MODES[scenario]:
            allowed = ", ".join(f"{name} {kinds}" for name, kinds in MODES.items())
            raise ValueError(f"scenario {scenario!r} in mode {mode!r}; allowed: {allowed}")
        return mode


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
        systems: files of conf/system; each system plays every world.
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


def named_methods(names: list[str] | None) -> dict[str, Any]:
    """Return the settings in files of conf/predictor; None: in all files.

    Raises:
        ValueError: a file does not exist.
    """
    folder = files("vcgym.conf").joinpath("predictor")
    known = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ValueError(f"methods has {unknown}; allowed: {', '.join(sorted(known))}")
    return {name: yaml.safe_load(known[name].read_text(encoding="utf-8")) for name in sorted(known if names is None else names)}


class RowSet(Config):
    """Set of rows to train and test a predictor: patterns of "scenario/mode", one of which must match."""

    worlds: Annotated[list[str], Field(min_length=1)]

    def holds(self, scenario: str, mode: str) -> bool:
        """Return True if rows of these worlds belong to the set."""
        return any(fnmatchcase(f"{scenario}/{mode}", pattern) for pattern in self.worlds)


DEFAULT_SETS = {
    "paper-like": RowSet(worlds=["wonderproxy/paper"]),
    "cloud-like": RowSet(worlds=["cloud/paper"]),
    "correlated": RowSet(worlds=["*/correlated"]),
    "replay": RowSet(worlds=["*/replay"]),
    "both": RowSet(worlds=["*/paper", "*/correlated"]),
}


class FitCell(NamedTuple):
    """Fit of a method, trained on the rows of a set and tested on its held-out rows."""

    method: str
    rows: str
    holdout: Holdout
    seed: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


class TrainPredictorConfig(Config):
    """A study: every method on every set and holdout, once per seed.

    Attributes:
        methods: settings by name; names alone are files of conf/predictor; None: all of them.
        sets: sets of rows by name; a set without rows in the file is left out.
        holdouts: ways to hold out rows, see `vcgym.predictors.study.partition`.
        seeds: seeds of the holdout and of the training.
        receivers: receivers whose rows are used; None: all. The two inputs do not identify the kind of receiver.
        jitter: the second input: a reading of Algorithm 2.
        transmit: the first input: fed_back, or oracle, the packet's own delay, which no rule can know.
        champion: method, set, holdout and seed of the network to publish and register, or None.
        rows: file of the training rows.
        judged: file of rows of all pairs and splits on which the champion's set is tested, pair by pair, or None.
        study: name of the run.
        folder: folder of everything the study writes except the tracking database.
        resume: continue the study in `folder`.
    """

    methods: dict[str, AnyMethod] = Field(default_factory=lambda: named_methods(None), min_length=1)
    sets: dict[str, RowSet] = Field(dict(DEFAULT_SETS), min_length=1)
    holdouts: list[Holdout] = Field(["random", "time", "pair"], min_length=1)
    seeds: list[Seed] = Field([0, 1, 2], min_length=1)
    receivers: list[str] | None = Field(["WMJitter"], min_length=1)
    jitter: Jitter = "lag"
    transmit: Transmit = "fed_back"
    champion: str | None = "dnn/both/random/0"
    rows: AbsolutePath = Path("outputs/predictor/data/rows.parquet")
    judged: AbsolutePath | None = None
    study: Annotated[str, Field(min_length=1)] = "predictor"
    folder: AbsolutePath = Path("outputs/predictor/study")
    resume: bool = True

    @field_validator("methods", mode="before")
    @classmethod
    def _named(cls, methods: Any) -> Any:
        return named_methods(methods) if methods is None or isinstance(methods, list) else methods

    @model_validator(mode="after")
    def _champion_takes_part(self) -> Self:
        cells = [str(cell) for cell in self.cells()]
        if self.champion is not None and self.champion not in cells:
            raise ValueError(f"champion is {self.champion!r}; allowed: null, or method/set/holdout/seed of the study, as {cells[0]!r}")
        if self.champion is not None and self.methods[self.champion.split("/")[0]].kind != "dnn":
            raise ValueError(f"champion is {self.champion!r}; allowed: a method of kind dnn, as only those run inside calls")
        return self

    def cells(self) -> list["FitCell"]:
        """Return every fit of the study."""
        return [
            FitCell(method, rows, holdout, seed)
            for rows in self.sets
            for holdout in self.holdouts
            for method in self.methods
            for seed in self.seeds
        ]
