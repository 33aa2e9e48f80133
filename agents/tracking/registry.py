"""Models of runs and of MLflow's registry: code and safetensors, or the zip of an algorithm of a library, under a name and an alias."""

import re
import time
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from mlflow.entities import LoggedModelOutput, Metric
from mlflow.exceptions import MlflowException

from vcgym.agents.tracking.tracking import Run
from vcgym.baselines.records import MEDIA, Record

CHAMPION = "champion"
"""Alias of the version that was best on validation worlds."""


class Served(NamedTuple):
    """Model that MLflow can serve.

    Attributes:
        files: files that the code (served.py) reads, all from one folder.
        example: example input, from which the signature is inferred: a table (columns of lists), an array, or arrays by name.
        answer: output for the example, in the same form.
    """

    files: tuple[Path, ...]
    example: Any
    answer: Any


def predictor(folder: Path) -> Served:
    """Return the model of a predictor that `vcgym.predictors.published.publish` wrote."""
    example, answer = {"transmit_delay_ms": [100.0], "jitter_ms": [30.0]}, {"end_to_end_delay_ms": [120.0]}
    return Served(tuple(folder.iterdir()), example, answer)


def agent(folder: Path, observation: np.ndarray, actions: np.ndarray) -> Served:
    """Return the model of a published agent that chooses `actions` for `observation`, both for a batch of sessions."""
    return Served(tuple(folder.iterdir()), observation, actions)


def pair(files: tuple[Path, ...]) -> Served:
    """Return the model of a learned pair: the two files of `vcgym.baselines.zoo.save_learned`, with an example."""
    record = Record(MEDIA, packet=0, path=0, sent_us=0, arrived_us=100_000, known_us=150_000, lag_us=80_000, late=0)
    history = np.array([[1024.0, 100.0, 2.0], [1024.0, 110.0, 2.0]])
    answer = {"path": np.zeros(1, np.int64), "lag_us": np.zeros(1, np.int64)}
    return Served(files, {"history": history, "records": np.array([record], np.int64)}, answer)


def log_model(run: Run, name: str, served: Served, steps: int, metrics: Mapping[str, float]) -> None:
    """Log a model as the output of a run and as the newest version of the registered model `name`; only once for a resumed run.

    Args:
        run: run that trained the model.
        name: name of the registered model.
        served: the model.
        steps: transitions in training.
        metrics: metrics of the model, shown with it.
    """
    if _versions(run, name):  # a kill may have left a model without a version
        return
    client, info = run.client, run.client.get_run(run.id)
    tags = {tag: value for tag, value in info.data.tags.items() if not tag.startswith("mlflow.")}
    source = {tag: value for tag, value in info.data.tags.items() if tag.startswith("mlflow.source.")}
    of_run = info.info.experiment_id, re.sub(r"[/:.%\"']", " ", info.info.run_name), run.id
    model = client.create_logged_model(*of_run, tags | source, model_type=name)
    with TemporaryDirectory() as draft:
        _save(Path(draft) / "model", served, model.model_id, run.id)
        client.log_model_artifacts(model.model_id, str(Path(draft) / "model"))
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(run.id, [LoggedModelOutput(model.model_id, steps)])
    at_ms = time.time_ns() // 1_000_000
    client.log_batch(run.id, [Metric(key, value, at_ms, steps, model_id=model.model_id) for key, value in metrics.items()])
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    client.create_model_version(name, model.artifact_location, run.id, tags, model_id=model.model_id)


def set_champion(run: Run, name: str) -> None:
    """Point the alias `CHAMPION` of a registered model at the newest version that a run trained; two processes may have trained it."""
    newest = max(_versions(run, name), key=int)
    run.client.set_registered_model_alias(name, CHAMPION, newest)


def _versions(run: Run, name: str) -> list[str]:
    return [str(found.version) for found in run.client.search_model_versions(f"name='{name}' and run_id='{run.id}'")]


def _save(path: Path, served: Served, model_id: str, run_id: str) -> None:
    with warnings.catch_warnings():
        # mlflow emits warnings about its own types on import.
        warnings.filterwarnings("ignore", ".*Any type hint is inferred as AnyType")
        from mlflow.models import Model, ModelSignature
        from mlflow.pyfunc import save_model

        save_model(
            path,
            python_model=str(Path(__file__).with_name("served.py")),
            artifacts={file.name: file.absolute().as_uri() for file in served.files},
            signature=ModelSignature(_schema(served.example), _schema(served.answer)),
            input_example=served.example,
            pip_requirements=[f"vcgym=={version('vcgym')}", f"mlflow=={version('mlflow-skinny')}"],
            mlflow_model=Model(model_id=model_id, run_id=run_id),
        )


def _schema(example: Any) -> Any:
    from mlflow.types import ColSpec, DataType, Schema, TensorSpec

    if isinstance(example, np.ndarray):
        return Schema([TensorSpec(example.dtype, (-1,) * example.ndim)])
    if isinstance(next(iter(example.values())), np.ndarray):
        return Schema([TensorSpec(array.dtype, (-1, *array.shape[1:]), name) for name, array in example.items()])
    return Schema([ColSpec(DataType.double, column) for column in example])
