"""A study: one training per seed, each a run nested under the study's."""

from pathlib import Path
from typing import Any, Protocol

from vcgym.agents.config.base import PLACES
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import data_hash
from vcgym.agents.tracking.tracking import Tracking, flatten
from vcgym.agents.training.training import Trained, require_trainable, train
from vcgym.network.traces.plain_file import read_json, replace_file, require_space
from vcgym.network.traces.refusal import shown


class StudyConfig(Protocol):
    """The config of any study."""

    @property
    def folder(self) -> Path: ...

    @property
    def without_effect(self) -> frozenset[str]: ...

    def decisive(self) -> dict[str, Any]: ...


def run_study(config: TrainConfig) -> list[Trained]:
    """Train once per seed of `config` and log every run.

    Raises:
        ValueError: the folder holds a study of another config, or its disk is all but full; also see
            `vcgym.agents.training.training.require_trainable`.
    """
    config.data.export()
    require_trainable(config)
    require_same_study(config)
    require_space(config.folder)
    data = data_hash(config.env)
    tracking = Tracking()
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())
    results = []
    with tracking.run(config.study, data_hash=data, marker=config.folder / "mlflow_run") as study:
        study.config(config)
        for seed in config.seeds:
            home = config.folder / f"seed-{seed}"
            with tracking.run(f"{config.study} seed {seed}", parent=study, data_hash=data, marker=home / "mlflow_run") as run:
                run.config(config.model_copy(update={"seeds": [seed]}))
                results.append(train(config, seed, run.metrics))
                run.folder(results[-1].agent)
        study.metrics({"validation/return_mean": sum(r.validation.return_mean for r in results) / len(results)}, results[-1].steps)
    return results


def require_same_study(config: StudyConfig) -> None:
    """Raise ValueError if the folder holds a study of another config, which could not be resumed with this one.

    Raises:
        ValueError: naming the field that differs.
    """
    path = config.folder / "config.json"
    if not path.exists():
        return
    begun = {name: value for name, value in flatten(read_json(path)).items() if not _has_no_effect(name, config)}
    wanted = flatten(config.decisive())
    for name in sorted(begun.keys() | wanted.keys()):
        if begun.get(name, "absent") != wanted.get(name, "absent"):
            raise ValueError(
                f"{path} is of another study: {shown(name)[1:-1]} is {shown(begun.get(name, 'absent'))}, "
                f"expected {shown(wanted.get(name, 'absent'))}; set it so, or choose another folder"
            )


def _has_no_effect(name: str, config: StudyConfig) -> bool:
    """Return True for a field without effect and what it holds, and for the places of a training within the config."""
    first, _, inner = name.partition(".")
    return first in config.without_effect or (first == "train" and inner.partition(".")[0] in PLACES)
