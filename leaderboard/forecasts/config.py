"""Arguments of the two commands of the predictors: typed counterparts of conf/predictor_data.yaml and conf/train_predictor.yaml."""

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
    """Sessions of one scenario in one mode: `seeds` worlds for each of its pairs, or for `pairs` of them, evenly taken."""

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
        parts: what is played; those in mode replay only where measured series are found.
        systems: files of conf/system that play, each on every world.
        splits: of the worlds. A predictor is trained on rows of the training split alone; files with others serve to be forecast.
        packets: length of the calls.
        rows: about how many, shared evenly among the parts and within each among the calls.
        threads: how many threads share the calls; without effect on the rows.
        data: where measured series lie.
        folder: receives rows.parquet and card.json.
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
    """Return the settings in files of conf/predictor; None: in all of them.

    Raises:
        ValueError: no such file.
    """
    folder = files("vcgym.conf").joinpath("predictor")
    known = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ValueError(f"methods has {unknown}; allowed: {', '.join(sorted(known))}")
    return {name: yaml.safe_load(known[name].read_text(encoding="utf-8")) for name in sorted(known if names is None else names)}


class RowSet(Config):
    """Rows that a predictor is trained and judged on: patterns of "scenario/mode", of which one must fit."""

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
    """Fit: a method on the rows of a set, judged on those that the holdout kept from it."""

    method: str
    rows: str
    holdout: Holdout
    seed: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


class TrainPredictorConfig(Config):
    """A study: every method, on every set and holdout, once per seed.

    Attributes:
        methods: settings by name; names alone are files of conf/predictor; None: all of them.
        sets: of rows, by name; one without rows in the file is left out.
        holdouts: how rows are held out, see `vcgym.predictors.study.partition`.
        seeds: of the holdout and of the training.
        receivers: receivers whose rows are used; None: all. The two inputs do not tell one kind of receiver from another.
        jitter: which reading of Algorithm 2 is the second input.
        transmit: the first input: fed_back, or oracle, the packet's own delay, which no rule can know.
        champion: method, set, holdout and seed of the network that is published and registered, or None.
        rows: file of the rows learnt from.
        judged: file of rows of all pairs and splits that the champion's set is forecast on, pair by pair, or None.
        study: name of the run.
        folder: everything the study writes except the tracking database.
        resume: go on with what is in `folder`.
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
