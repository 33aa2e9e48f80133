"""Arguments of ``python -m lab forecasts``: typed counterpart of conf/forecasts.yaml."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import Field, field_validator

from lab.studies.forecasts.methods.methods import AnyMethod
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.leaderboard.forecasts.config import Seed
from vcgym.predictors.rows import Holdout, Jitter, Transmit


def named_methods(names: list[str] | None) -> dict[str, Any]:
    """Return the settings in files of lab/conf/predictor; None: in all files.

    Raises:
        ValueError: a file does not exist.
    """
    folder = files("lab.conf").joinpath("predictor")
    known = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ValueError(f"methods has {unknown}; allowed: {', '.join(sorted(known))}")
    return {name: yaml.safe_load(known[name].read_text(encoding="utf-8")) for name in sorted(known if names is None else names)}


class RowSet(Config):
    """Set of rows to train and test a predictor: patterns of "scenario/mode", one of which must match."""

    worlds: Annotated[list[str], Field(min_length=1)]


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


class ForecastsConfig(Config):
    """A study: every method on every set and holdout, once per seed.

    Attributes:
        methods: settings by name; names alone are files of lab/conf/predictor; None: all of them.
        sets: sets of rows by name; a set without rows in the file is left out.
        holdouts: ways to hold out rows, see `vcgym.predictors.rows`.
        seeds: seeds of the holdout and of the training.
        receivers: receivers whose rows are used; None: all. The two inputs do not identify the kind of receiver.
        jitter: the second input: a reading of Algorithm 2.
        transmit: the first input: fed_back, or oracle, the packet's own delay, which no rule can know.
        rows: file of the training rows.
        judged: file of rows of all pairs and splits on which every fit is tested, pair by pair, or None.
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
    rows: AbsolutePath = Path("outputs/predictor/data/rows.parquet")
    judged: AbsolutePath | None = None
    study: Annotated[str, Field(min_length=1)] = "forecasts"
    folder: AbsolutePath = Path("outputs/forecasts")
    resume: bool = True

    @field_validator("methods", mode="before")
    @classmethod
    def _named(cls, methods: Any) -> Any:
        return named_methods(methods) if methods is None or isinstance(methods, list) else methods

    def cells(self) -> list["FitCell"]:
        """Return every fit of the study."""
        return [
            FitCell(method, rows, holdout, seed)
            for rows in self.sets
            for holdout in self.holdouts
            for method in self.methods
            for seed in self.seeds
        ]
