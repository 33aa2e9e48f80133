"""Runs in MLflow: one per seed, nested under its study, on sqlite or at MLFLOW_TRACKING_URI.

Runs are addressed by id, never through MLflow's notion of an active run, so several may be open in one process.
"""

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Read when mlflow is imported: tracking reports to nobody but its own database.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_GIT_COMMIT, MLFLOW_PARENT_RUN_ID

from vcgym.agents.config.base import Config
from vcgym.network.traces.plain_file import replace_file

EXPERIMENT = "vcgym"
_SQLITE = "sqlite:///"
_PARAMS_PER_BATCH = 100  # MLflow's limit for one call


class Run:
    """One open run of a tracking database."""

    def __init__(self, client: MlflowClient, run_id: str):
        self.client, self.id = client, run_id

    def metrics(self, values: dict[str, float], steps: int) -> None:
        """Log metric values seen after `steps` transitions."""
        now_ms = time.time_ns() // 1_000_000
        self.client.log_batch(self.id, metrics=[Metric(name, value, now_ms, steps) for name, value in values.items()])

    def config(self, config: Config) -> None:
        """Log the resolved config: decisive fields, flattened, as parameters, which MLflow does not let change; all as config.json."""
        parameters = [Param(name, str(value)) for name, value in flatten(config.decisive()).items()]
        for start in range(0, len(parameters), _PARAMS_PER_BATCH):
            self.client.log_batch(self.id, params=parameters[start : start + _PARAMS_PER_BATCH])
        self.client.log_text(self.id, config.model_dump_json(indent=2), "config.json")

    def folder(self, folder: Path) -> None:
        """Log every file of `folder` as an artefact under its name."""
        self.client.log_artifacts(self.id, str(folder), folder.name)

    def dataset(self, file: Path, sha256: str, columns: dict[str, str], rows: int) -> None:
        """Log the data set in a file under the first sixteen digits of its hash; `columns` gives the type of each column."""
        schema = json.dumps({"mlflow_colspec": [{"name": name, "type": kind} for name, kind in columns.items()]})
        profile = json.dumps({"num_rows": rows, "sha256": sha256})
        found = Dataset(file.name, sha256[:16], "local", json.dumps({"uri": file.as_uri()}), schema, profile)
        self.client.log_inputs(self.id, [DatasetInput(found, [InputTag(MLFLOW_DATASET_CONTEXT, "training")])])


class Tracking:
    """A tracking database, made on first use: two processes that find none may start at once.

    Args:
        uri: of the database; None takes MLFLOW_TRACKING_URI, else outputs/mlflow.db below the working folder.
    """

    def __init__(self, uri: str | None = None):
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{Path('outputs/mlflow.db').absolute()}"
        database = Path(uri.removeprefix(_SQLITE)).absolute() if uri.startswith(_SQLITE) else None
        with _locked(database) if database else nullcontext():
            self.client = MlflowClient(tracking_uri=uri)
            experiment = self.client.get_experiment_by_name(EXPERIMENT)
            if experiment is None:
                artefacts = (database.parent / "mlruns").as_uri() if database else None
                self.experiment_id = self.client.create_experiment(EXPERIMENT, artifact_location=artefacts)
            else:
                self.experiment_id = experiment.experiment_id

    @contextmanager
    def run(self, name: str, *, parent: Run | None = None, data_hash: str = "", marker: Path | None = None) -> Iterator[Run]:
        """Open a run for the length of the block; it ends FINISHED, FAILED when the block raises, or KILLED by an interrupt or exit.

        Args:
            name: shown in the interface.
            parent: the study's run that this one is nested under.
            data_hash: of the data cards the run reads.
            marker: a file that remembers the run's id; when it exists, that run goes on.
        """
        if marker is not None and marker.exists():
            run = Run(self.client, marker.read_text().strip())
            self.client.update_run(run.id, status="RUNNING")
        else:
            tags = {MLFLOW_GIT_COMMIT: git_revision(), "data_hash": data_hash} | ({MLFLOW_PARENT_RUN_ID: parent.id} if parent else {})
            run = Run(self.client, self.client.create_run(self.experiment_id, tags=tags, run_name=name).info.run_id)
            if marker is not None:
                replace_file(marker, f"{run.id}\n".encode())
        try:
            yield run
        except BaseException as error:
            self.client.set_terminated(run.id, "KILLED" if isinstance(error, KeyboardInterrupt | SystemExit) else "FAILED")
            raise
        self.client.set_terminated(run.id, "FINISHED")


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one, keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def git_revision() -> str:
    """Return the commit of the source tree, with "-dirty" if changed; the package's version where git does not track this file."""
    here = Path(__file__).resolve()

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=here.parent, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return version("vcgym")


@contextmanager
def _locked(database: Path) -> Iterator[None]:
    database.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{database}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
