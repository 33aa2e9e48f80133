"""From rows to a registered predictor: one run, curves, data set, model and alias, reproducible bytes, resuming."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from tracked import answer_of, runs_of

from vcgym.agents.tracking.registry import CHAMPION
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig, TrainPredictorConfig
from vcgym.leaderboard.forecasts.data import build
from vcgym.leaderboard.forecasts.train import MODEL, train_predictor
from vcgym.predictors.dnn import Dnn
from vcgym.predictors.predictor import predict_each
from vcgym.predictors.published import load_network, read_card

INPUTS = {"transmit_delay_ms": [40.0, 180.0, 700.0], "jitter_ms": [10.0, 80.0, 300.0]}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("forecasts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/mlflow.db")
        yield home


def trained(config):
    return train_predictor(config, lambda done, note: None)


@pytest.fixture(scope="module")
def config(home):
    """A small file of rows, and a network trained on it."""
    systems = {"DRT-WM": System(Direct(), WMJitter()), "RR-WM": System(RoundRobin(), WMJitter())}
    parts = [DataPart(scenario="table1", mode="paper", seeds=1)]
    given = PredictorDataConfig(parts=parts, packets=500, rows=1500, threads=1, folder=home / "rows")
    rows = build(given, systems, lambda done, note: None)
    config = TrainPredictorConfig(network=Dnn(epochs=3, batch_size=64), rows=rows, folder=home / "network")
    assert trained(config)["rmse_ms"] > 0.0
    return config


def test_the_training_is_a_run_with_its_data_curves_and_scores(config, home):
    client, (run,) = runs_of(home, "mlflow.db")
    assert run.info.run_name == config.study and run.info.status == "FINISHED"
    (data,) = run.inputs.dataset_inputs
    assert data.dataset.digest == run.data.tags["data_hash"][:16]
    assert json.loads(data.dataset.profile)["num_rows"] == pq.read_metadata(config.rows).num_rows
    assert [point.step for point in client.get_metric_history(run.info.run_id, "loss/check")] == [1, 2, 3]
    assert run.data.params["network.loss"] == "mae" and {"rmse_ms", "r2", "within_10_percent"} <= run.data.metrics.keys()


def test_the_registered_model_forecasts_alike_in_a_fresh_process(config, home):
    network = load_network(config.folder / "predictor")
    assert answer_of(f"sqlite:///{home}/mlflow.db", MODEL, INPUTS) == predict_each(network, *INPUTS.values()).tolist()


def test_the_registered_model_holds_no_pickle(config):
    client = MlflowClient()
    version = client.get_model_version_by_alias(MODEL, CHAMPION)
    folder = download_artifacts(f"models:/{MODEL}/{version.version}")
    names = {name for _, _, names in os.walk(folder) for name in names}
    assert {"predictor.safetensors", "predictor.json", "served.py"} <= names
    assert not {name for name in names if name.endswith((".pkl", ".pickle", ".pt", ".pth"))}
    assert "signature" in (Path(folder) / "MLmodel").read_text(encoding="utf-8")


def test_the_same_settings_again_publish_the_same_bytes(config, home):
    trained(config.model_copy(update={"folder": home / "again"}))
    for name in ("predictor.safetensors", "predictor.json"):
        assert (home / "again" / "predictor" / name).read_bytes() == (config.folder / "predictor" / name).read_bytes()
    card = read_card(config.folder / "predictor").training
    assert card.modes == ["paper"] and card.jitter == "lag" and card.rows == pq.read_metadata(config.rows).num_rows


def test_a_finished_training_that_is_run_again_changes_nothing(config):
    before = (config.folder / "predictor" / "predictor.safetensors").read_bytes()
    trained(config)
    assert (config.folder / "predictor" / "predictor.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"resume": False}, FileExistsError, r"holds a training \(resume is False\)"),
        ({"seed": 1}, ValueError, r"of another study: seed is 0, expected 1"),
        ({"worlds": ["leo/*"]}, ValueError, r"worlds is \['leo/\*'\] and receivers \['WMJitter'\], but .* has no such row"),
    ],
    ids=str,
)
def test_another_training_is_refused(config, change, error, message):
    with pytest.raises(error, match=message):
        trained(config.model_copy(update=change))
