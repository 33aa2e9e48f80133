"""Runs in MLflow: one per seed, nested in its study, in sqlite or at MLFLOW_TRACKING_URI.

Runs are addressed by id, never through MLflow's active run, so one process may have several open runs. A server or the database must
respond before work begins. If it fails later, work continues: a warning appears once, and metrics are saved in the run's folder until the
run resumes. Signals wait for the end of a request: an interrupted transaction would keep the database locked, and the run could not be
closed.
"""

import getpass
import json
import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import (
    MLFLOW_DATASET_CONTEXT,
    MLFLOW_GIT_COMMIT,
    MLFLOW_PARENT_RUN_ID,
    MLFLOW_SOURCE_NAME,
    MLFLOW_SOURCE_TYPE,
    MLFLOW_USER,
)

from vcgym.agents.config.base import Config
from vcgym.agents.tracking import points
from vcgym.agents.tracking.points import MetricPoint
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import locked, read_plain, replace_file
from vcgym.network.traces.refusal import one_line, shown

HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held_signals() -> Iterator[None]:
    """Defer termination signals until the block ends; no effect outside the main thread, the only one that receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = {number: signal.signal(number, lambda caught_number, _: caught.append(caught_number)) for number in HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if caught:
            signal.raise_signal(caught[0])


EXPERIMENT = "vcgym"
UNSENT = "metrics_unsent.jsonl"
_SQLITE = "sqlite:///"
_PARAMS_PER_BATCH = 100  # MLflow's limit per request
_LONGEST_PARAM = 500  # the arrays of a rule are longer; config.json has them whole
_RUN_ID, _MAX_MARKER_BYTES = re.compile("[0-9a-f]{32}"), 100
_MAX_REASON = 100  # characters of an error of MLflow that ours repeats
_ANSWER_S = 2.0  # timeout of the first request to a server
_LOCK_S = 1.5  # longest wait for other writers of a database before work; MLflow itself would try for minutes

log = logging.getLogger(__name__)


class Server:
    """Tracking server that gets no more requests after its first failure."""

    def __init__(self, uri: str):
        _require_answer(uri)
        self.uri, self.client = uri, MlflowClient(tracking_uri=uri)
        self.lost = False

    def ask(self, request: Callable[[], object]) -> bool:
        """Make a request; return False if the server fails or has failed, and warn the first time."""
        if not self.lost:
            try:
                with held_signals():
                    request()
            except (MlflowException, OSError) as error:
                self.lost = True
                log.warning(f"tracking at {self.uri} failed ({str(error)[:100]}...); work goes on, metrics are kept as {UNSENT} "
                            "in the folders of runs; the same command with resume=true sends them")  # fmt: skip
        return not self.lost


class Run:
    """Open run in a tracking database.

    Args:
        server: server of the run.
        run_id: id of the run; empty if the server had failed before the run began.
        unsent: file for metrics that the server does not accept; None: they are lost.
    """

    def __init__(self, server: Server, run_id: str, unsent: Path | None):
        self.server, self.client, self.id, self.unsent = server, server.client, run_id, unsent

    def metrics(self, values: dict[str, float], steps: int) -> None:
        """Log metric values seen after `steps` transitions."""
        point = MetricPoint(values, steps, time.time_ns() // 1_000_000)
        if not self.server.ask(lambda: self._log([point])) and self.unsent is not None:
            points.append(self.unsent, point)

    def send_unsent(self) -> None:
        """Log the metrics that the server did not accept when this run was last open."""
        if self.unsent is None or not self.unsent.exists():
            return
        found = list(points.read(self.unsent))
        if self.server.ask(lambda: self._log(found)):
            self.unsent.unlink()
            log.info(f"{self.unsent}: {len(found)} unsent points of metrics sent to {self.server.uri}")

    def config(self, config: Config) -> None:
        """Log the resolved config: decisive fields, flattened, as (immutable) parameters, and all fields as config.json."""
        self.server.ask(lambda: self._log_config(config))

    def folder(self, folder: Path) -> None:
        """Log every file of `folder` as an artefact of the same name."""
        self.server.ask(lambda: self.client.log_artifacts(self.id, str(folder), folder.name))

    def end(self, status: str) -> None:
        """End the run as FINISHED, FAILED or KILLED."""
        self.server.ask(lambda: self.client.set_terminated(self.id, status))

    def _log(self, seen: list[MetricPoint]) -> None:
        for values, steps, at_ms in seen:
            self.client.log_batch(self.id, metrics=[Metric(name, value, at_ms, steps) for name, value in values.items()])

    def _log_config(self, config: Config) -> None:
        parameters = [Param(name, str(value)[:_LONGEST_PARAM]) for name, value in flatten(config.decisive()).items()]
        for start in range(0, len(parameters), _PARAMS_PER_BATCH):
            self.client.log_batch(self.id, params=parameters[start : start + _PARAMS_PER_BATCH])
        self.client.log_text(self.id, config.model_dump_json(indent=2), "config.json")

    def table(self, file: Path, sha256: str, columns: dict[str, str], rows: int) -> None:
        """Log the table in a file as a data set of the run; `columns` maps names to types."""
        schema = json.dumps({"mlflow_colspec": [{"name": name, "type": kind} for name, kind in columns.items()]})
        source, profile = json.dumps({"uri": file.as_uri()}), json.dumps({"num_rows": rows, "sha256": sha256})
        self._dataset(Dataset(file.name, sha256[:16], "local", source, schema, profile), "training")

    def worlds(self, kind: str, data_hash: str) -> None:
        """Log the worlds of a scenario and mode as two data sets of the run: the training and the validation split."""
        for split, context in (("train", "training"), ("validation", "validation")):
            source, profile = json.dumps({"scenario": kind, "split": split}), json.dumps({"sha256": data_hash})
            self._dataset(Dataset(f"{kind} {split}", data_hash[:16], "vcgym", source, None, profile), context)

    def _dataset(self, dataset: Dataset, context: str) -> None:
        inputs = [DatasetInput(dataset, [InputTag(MLFLOW_DATASET_CONTEXT, context)])]
        self.server.ask(lambda: self.client.log_inputs(self.id, inputs))


class Tracking:
    """Tracking database, created on first use; two processes may start at once without one.

    Args:
        uri: URI of the database; None: MLFLOW_TRACKING_URI, else outputs/mlflow.db in the working folder.

    Raises:
        ConnectionError: the server or the file of the database does not respond within two seconds.
        ValueError: MLflow cannot keep runs there: a folder, an unknown scheme, a driver that is not installed, another version's database.
    """

    def __init__(self, uri: str | None = None):
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or _default()
        try:
            self._open(uri)
        except OSError:
            raise
        except Exception as error:  # of MLflow, of SQLAlchemy, of Alembic or of a driver
            allowed = "sqlite:///FILE of this version of MLflow, another database with its driver, or the address of a server"
            raise ValueError(f"MLFLOW_TRACKING_URI is {shown(uri)} ({one_line(str(error), _MAX_REASON)}); allowed: {allowed}") from error

    def _open(self, uri: str) -> None:
        database = Path(uri.removeprefix(_SQLITE)) if uri.startswith(_SQLITE) else None
        with locked(database.with_name(f"{database.name}.lock")) if database else nullcontext():
            if database and not database.exists():
                _create(database)
            if database:
                _require_open(database, uri)
            self.server = Server(uri)
            self.client = self.server.client
            experiment = self.client.get_experiment_by_name(EXPERIMENT)
            if experiment is None:
                artefacts = (database.parent.absolute() / "mlruns").as_uri() if database else None
                self.experiment_id = self.client.create_experiment(EXPERIMENT, artifact_location=artefacts)
            else:
                self.experiment_id = experiment.experiment_id

    @contextmanager
    def run(
        self, name: str, *, parent: Run | None = None, tags: Mapping[str, str] = MappingProxyType({}), marker: Path | None = None
    ) -> Iterator[Run]:  # fmt: skip
        """Open a run during the block; it ends FINISHED, FAILED if the block raises, or KILLED on an interrupt or exit.

        Args:
            name: name in the interface.
            parent: parent run, that of the study.
            tags: tags for search, such as environment, algorithm, seed and hash of the data.
            marker: file with the run's id; if it exists, that run resumes.

        Raises:
            DataError: the marker holds anything else.
        """
        found = read_run_id(marker) if marker is not None and marker.exists() else ""
        run = Run(self.server, found, marker and marker.with_name(UNSENT))
        if found:
            self.server.ask(lambda: self.client.update_run(run.id, status="RUNNING"))
        else:
            self.server.ask(lambda: self._begin(run, name, parent, tags))
            if marker is not None and run.id:
                replace_file(marker, f"{run.id}\n".encode())
        run.send_unsent()
        try:
            yield run
        except BaseException as error:
            run.end("KILLED" if isinstance(error, KeyboardInterrupt | SystemExit) else "FAILED")
            raise
        run.end("FINISHED")

    def _begin(self, run: Run, name: str, parent: Run | None, tags: Mapping[str, str]) -> None:
        source = {MLFLOW_SOURCE_NAME: Path(sys.argv[0]).name, MLFLOW_SOURCE_TYPE: "LOCAL", MLFLOW_GIT_COMMIT: git_revision()}
        nested = {MLFLOW_PARENT_RUN_ID: parent.id} if parent else {}
        all_tags = {**tags, **source, **nested, MLFLOW_USER: _user(), "vcgym": version("vcgym")}
        run.id = self.client.create_run(self.experiment_id, tags=all_tags, run_name=name).info.run_id


def _default() -> str:
    """Return the address of outputs/mlflow.db, relative where an absolute one would be cut at a character of the working folder."""
    database = Path("outputs/mlflow.db")
    return f"{_SQLITE}{database if set('#?%') & set(str(Path.cwd())) else database.absolute()}"


def read_run_id(marker: Path) -> str:
    """Return the id of the run in a marker file.

    Raises:
        DataError: it is not the id of a run.
    """
    found = read_plain(marker, _MAX_MARKER_BYTES).decode(errors="replace").strip()
    if not _RUN_ID.fullmatch(found):
        raise DataError(marker, "run", found, "the id of an MLflow run; delete the file to begin another run")
    return found


def _require_answer(uri: str) -> None:
    if not uri.startswith(("http://", "https://")):
        return
    try:
        with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=_ANSWER_S):
            pass
    except urllib.error.HTTPError:
        pass  # any response will do
    except (OSError, ValueError) as error:
        allowed = "a server that answers within 2 s, or none: then outputs/mlflow.db"
        raise ConnectionError(f"MLFLOW_TRACKING_URI is {uri} ({error}); allowed: {allowed}") from error


def _require_open(database: Path, uri: str) -> None:
    try:
        with closing(sqlite3.connect(database, _LOCK_S, isolation_level=None)) as opened:
            opened.execute("BEGIN IMMEDIATE")
            opened.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        allowed = "a file that can be written to, and that no other program locks for more than a moment"
        raise ConnectionError(f"MLFLOW_TRACKING_URI is {uri} ({error}); allowed: {allowed}") from error


def pages(server: str) -> str:
    """Return the address of the table of training runs on a server of MLflow that shows this database."""
    return f"{server}/#/experiments/{Tracking().experiment_id}/runs?workflowType=machine_learning"


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one, keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def git_revision() -> str:
    """Return the commit of the source tree, with "-dirty" if changed; the package's version if git does not track this file."""
    here = Path(__file__).resolve()

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=here.parent, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return version("vcgym")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user in a container may have no name
        return str(os.getuid())


def _create(database: Path) -> None:
    """Create a database in one step: a kill between two of its tables would leave one that MLflow refuses for ever."""
    draft = database.with_name(f".{database.name}.draft")
    for left in (draft, draft.with_name(f"{draft.name}-journal")):
        left.unlink(missing_ok=True)
    MlflowClient(tracking_uri=f"{_SQLITE}{draft}").get_experiment_by_name(EXPERIMENT)  # MLflow makes the tables on the first request
    draft.replace(database)
