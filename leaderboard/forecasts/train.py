"""Training of the delay predictor: one run of MLflow; the network is published and registered. The same settings give the same bytes."""

import hashlib
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.tracking import registry
from vcgym.agents.tracking.progress import OnProgress
from vcgym.agents.tracking.same_study import require_same_study
from vcgym.agents.tracking.tracking import Tracking
from vcgym.leaderboard.forecasts.config import TrainPredictorConfig
from vcgym.network.traces.plain_file import replace_file
from vcgym.predictors.predictor import predict_each
from vcgym.predictors.published import Training, publish, read_card
from vcgym.predictors.rows import COLUMNS, Rows, partition, read_rows
from vcgym.predictors.training import Site, fit_dnn

MODEL, PUBLISHED = "vcgym-delay-predictor", "predictor"
CLOSE = 0.1  # maximum relative error that the paper counts as close


def train_predictor(config: TrainPredictorConfig, on_progress: OnProgress) -> dict[str, float]:
    """Train, score, publish and register the network.

    Args:
        config: settings.
        on_progress: called with the number of finished epochs.

    Returns:
        The scores on the rows held out; see `scores`.

    Raises:
        FileNotFoundError: the file of rows does not exist.
        FileExistsError: the folder holds a training and `config.resume` is false.
        ValueError: the rows are broken, none matches, or the folder holds another training.
    """
    if (config.folder / "config.json").exists() and not config.resume:
        raise FileExistsError(f"{config.folder} holds a training (resume is {config.resume}); set resume=true or another folder")
    all_rows = read_rows(config.rows, config.jitter)
    rows = chosen(all_rows, config.worlds, config.receivers)
    if not len(rows):
        raise ValueError(f"worlds is {config.worlds} and receivers {config.receivers}, but {config.rows} has no such row")
    require_same_study(config.folder, config)
    data_sha256 = hashlib.sha256(config.rows.read_bytes()).hexdigest()
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())
    tags = {"algorithm": "dnn", "seed": str(config.seed), "data_hash": data_sha256}
    with Tracking().run(config.study, tags=tags, marker=config.folder / "mlflow_run") as run:
        run.config(config)
        types = {field.name: {"int64": "long"}.get(str(field.type), str(field.type)) for field in COLUMNS}
        run.table(config.rows, data_sha256, types, len(all_rows))
        parts = partition(rows, config.holdout, config.seed)
        network = fit_dnn(config.network, parts.fit, parts.check, config.seed, Site(run.metrics, on_progress))
        found = scores(parts.test.target_ms, predict_each(network, *parts.test.inputs.T))
        run.metrics(found, 0)
        metrics = {name: value for name, value in found.items() if name != "n"}
        modes = sorted(set(rows["mode"]))
        training = Training(
            data_sha256=data_sha256, modes=modes, jitter=config.jitter, seed=config.seed, rows=len(rows), metrics=metrics
        )  # fmt: skip
        folder = config.folder / PUBLISHED
        if not (folder / "predictor.json").exists():
            publish(folder, network, training)
        elif read_card(folder).training != training:
            raise ValueError(f"{folder} holds a predictor of other data or code; choose another folder")
        run.folder(folder)
        if run.server.ask(lambda: registry.log_model(run, MODEL, registry.predictor(folder), 0, metrics)):
            run.server.ask(lambda: registry.set_champion(run, MODEL))
    return found


def chosen(rows: Rows, worlds: list[str], receivers: list[str] | None) -> Rows:
    """Return the rows of worlds that match one of the patterns of "scenario/mode", of some receivers or of all."""
    of_them = np.zeros(len(rows), bool)
    for scenario, mode in set(zip(rows["scenario"], rows["mode"], strict=True)):
        if any(fnmatchcase(f"{scenario}/{mode}", pattern) for pattern in worlds):
            of_them |= (rows["scenario"] == scenario) & (rows["mode"] == mode)
    if receivers is not None:
        of_them &= np.isin(rows["receiver"], receivers)
    return rows.take(of_them)


def scores(actual_ms: NDArray[np.float64], forecast_ms: NDArray[np.float64]) -> dict[str, float]:
    """Return the scores of n forecasts: the paper's three figures, and others that they hide.

    Returns:
        rmse_ms, mae_ms, r2 = 1 - SSE / SST (0 if delays are constant), within_10_percent (relative to the actual delay), mean_error_ms
        (forecast minus actual), mean_ms and sd_ms of the actual delays, and their number n.
    """
    error = forecast_ms - actual_ms
    total = float(np.sum((actual_ms - actual_ms.mean()) ** 2))
    return {
        "rmse_ms": float(np.sqrt(np.mean(error**2))),
        "mae_ms": float(np.mean(np.abs(error))),
        "r2": 1.0 - float(np.sum(error**2)) / total if total > 0.0 else 0.0,
        "within_10_percent": float(np.mean(np.abs(error) <= CLOSE * actual_ms)),
        "mean_error_ms": float(np.mean(error)),
        "mean_ms": float(actual_ms.mean()),
        "sd_ms": float(actual_ms.std()),
        "n": float(len(error)),
    }
