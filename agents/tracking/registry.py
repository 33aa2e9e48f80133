"""Models in MLflow's registry: code and safetensors, under a name and an alias. Nothing is pickled."""

import warnings
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from mlflow.exceptions import MlflowException

from vcgym.agents.tracking.tracking import Run

_CODE = "served_predictor.py"


def register_predictor(run: Run, folder: Path, name: str, alias: str) -> int:
    """Register a published predictor as the newest version of the model `name`, and point `alias` at it.

    Args:
        run: that trained it, and keeps it as an artefact.
        folder: written by `vcgym.predictors.published.publish`.
        name: of the model.
        alias: of the version.

    Returns:
        The version.
    """
    with TemporaryDirectory() as draft:
        model = Path(draft) / "model"
        _save(model, folder)
        run.folder(model)
    try:
        run.client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    source = f"{run.client.get_run(run.id).info.artifact_uri}/{model.name}"
    made = run.client.create_model_version(name, source, run.id)
    run.client.set_registered_model_alias(name, alias, made.version)
    return int(made.version)


def _save(model: Path, folder: Path) -> None:
    with warnings.catch_warnings():
        # mlflow warns of its own types while it is imported, and of an example that the signature makes needless.
        warnings.filterwarnings("ignore", ".*(Any type hint is inferred as AnyType|An input example was not provided)")
        from mlflow.models import ModelSignature
        from mlflow.pyfunc import save_model
        from mlflow.types import ColSpec, DataType, Schema

        inputs = Schema([ColSpec(DataType.double, column) for column in ("transmit_delay_ms", "jitter_ms")])
        save_model(
            model,
            python_model=str(Path(__file__).with_name(_CODE)),
            artifacts={"predictor": str(folder)},
            signature=ModelSignature(inputs, Schema([ColSpec(DataType.double, "end_to_end_delay_ms")])),
            pip_requirements=[f"{package}=={version(package)}" for package in ("vcgym", "mlflow")],
        )
