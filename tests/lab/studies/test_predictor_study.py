"""A study of forecasts from rows to tables: nested runs, curves, data set, resuming."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient
from rich.console import Console

from lab.studies.forecasts.config import ForecastsConfig, RowSet
from lab.studies.forecasts.methods.methods import PublishedDnn
from lab.studies.forecasts.methods.simple import LeastSquares
from lab.studies.forecasts.study import run_study
from lab.studies.forecasts.table import print_ranks
from vcgym.agents.tracking.tracking import EXPERIMENT
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig
from vcgym.leaderboard.forecasts.data import build

pytestmark = pytest.mark.long  # trains


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("forecasts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/mlflow.db")
        yield home


@pytest.fixture(scope="module")
def config(home):
    """Two small files of rows, the second of all splits, and a study that has been run on them."""
    systems = {"DRT-WM": System(Direct(), WMJitter()), "RR-WM": System(RoundRobin(), WMJitter())}
    parts = [DataPart(scenario="table1", mode="paper", seeds=1)]
    for folder, splits in (("rows", ["train"]), ("judged", ["train", "validation", "test"])):
        given = PredictorDataConfig(parts=parts, splits=splits, packets=500, rows=1500, threads=1, folder=home / folder)
        build(given, systems, lambda done, note: None)
    config = ForecastsConfig(
        methods={"dnn": PublishedDnn(epochs=3, batch_size=64), "linear": LeastSquares()},
        sets={"both": RowSet(worlds=["*/paper"])},
        holdouts=["random", "pair"],
        seeds=[0, 1],
        rows=home / "rows" / "rows.parquet",
        judged=home / "judged" / "rows.parquet",
        folder=home / "study",
    )
    run_study(config)
    return config


def runs():
    client = MlflowClient()
    return client, client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id], max_results=100)


def test_every_fit_is_a_run_nested_under_the_study(config):
    client, found = runs()
    study = next(run for run in found if run.info.run_name == config.study)
    children = {run.info.run_name: run for run in found if run.data.tags.get("mlflow.parentRunId") == study.info.run_id}
    assert children.keys() == {str(cell) for cell in config.cells()}
    assert all(run.info.status == "FINISHED" for run in [study, *children.values()])
    (data,) = children["dnn/both/pair/1"].inputs.dataset_inputs
    assert data.dataset.digest == study.data.tags["data_hash"][:16]
    assert json.loads(data.dataset.profile)["num_rows"] == pq.read_metadata(config.rows).num_rows
    child = children["dnn/both/random/0"]
    assert [point.step for point in client.get_metric_history(child.info.run_id, "loss/check")] == [1, 2, 3]
    assert child.data.params["methods.dnn.loss"] == "mae"
    pictures = {file.path for file in client.list_artifacts(child.info.run_id, "figures")}
    assert pictures == {f"figures/{name}.png" for name in ("loss", "residuals", "calibration", "relative_error")}
    assert {"rmse_ms", "r2", "within_10_percent"} <= child.data.metrics.keys()


def test_results_and_pairs_are_tables(config):
    results = pq.read_table(config.folder / "tables" / "results.parquet").to_pylist()
    assert len(results) == 2 * len(config.cells())  # of all modes, and of each
    pairs = pq.read_table(config.folder / "tables" / "pairs.parquet").to_pylist()
    assert {row["split"] for row in pairs} == {"train", "validation", "test"}
    assert len({row["pair"] for row in pairs}) == 12
    console = Console(width=100, record=True)
    print_ranks(config.folder / "tables" / "results.parquet", console)
    text = console.export_text()
    assert text.count("held out: pair") == 1 and "linear" in text and "±" in text


def test_a_study_goes_on_where_it_was_stopped(config):
    scores = sorted(config.folder.rglob("scored/*.parquet"))
    assert len(scores) == len(config.cells())
    before = [path.stat().st_mtime_ns for path in scores]
    next((config.folder / "linear" / "both" / "pair" / "seed-1" / "scored").iterdir()).unlink()
    results = (config.folder / "tables" / "results.parquet").read_bytes()
    run_study(config)
    after = [path.stat().st_mtime_ns for path in scores]
    assert int(np.sum(np.array(before) != np.array(after))) == 1
    assert (config.folder / "tables" / "results.parquet").read_bytes() == results


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"resume": False}, FileExistsError, r"holds a study \(resume is False\)"),
        ({"seeds": [0]}, ValueError, r"of another study: seeds is \[0, 1\], expected \[0\]"),
        ({"rows": "judged"}, ValueError, r"column split holds \['test', 'validation'\]; allowed here: train"),
    ],
    ids=str,
)
def test_another_study_is_refused(config, change, error, message):
    if "rows" in change:
        change = {"rows": config.judged}
    with pytest.raises(error, match=message):
        run_study(config.model_copy(update=change))
