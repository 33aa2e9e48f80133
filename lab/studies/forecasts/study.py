"""The study of the predictors: fit every method on every set of rows, log each fit as a nested run, and score all methods.

The scores of a fit are cached (`vcgym.leaderboard.kept`), so an interrupted study resumes.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lab.studies.forecasts.config import FitCell, ForecastsConfig
from lab.studies.forecasts.figures import draw
from lab.studies.forecasts.methods.method import FittedMethod
from lab.studies.forecasts.methods.quantile import TrainedQuantiles
from lab.studies.forecasts.table import ALL_MODES
from vcgym.agents.tracking.progress import progress
from vcgym.agents.tracking.same_study import require_same_study
from vcgym.agents.tracking.tracking import Run, Tracking
from vcgym.leaderboard.forecasts.scores import scores
from vcgym.leaderboard.forecasts.train import chosen, log_rows
from vcgym.leaderboard.kept import kept_document
from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.traces.plain_file import replace_file
from vcgym.predictors.rows import MIN_PAIRS, Rows, partition, read_rows
from vcgym.predictors.training import Site

TABLES, RESULTS, PAIRS, SCORED = "tables", "results.parquet", "pairs.parquet", "scored"


class Data(NamedTuple):
    """Training rows, optional rows for tests pair by pair, and the hashes of their files."""

    rows: Rows
    judged: Rows | None
    sha256: str
    judged_sha256: str | None


def run_study(config: ForecastsConfig) -> Path:
    """Fit, score and log all methods.

    Returns:
        The path of tables/results.parquet; pairs.parquet is in the same folder if `judged` is set.

    Raises:
        FileNotFoundError: the file of rows does not exist.
        FileExistsError: the folder holds a study and `config.resume` is false.
        ValueError: the rows are broken, or the folder holds another study.
    """
    if (config.folder / "config.json").exists() and not config.resume:
        raise FileExistsError(f"{config.folder} holds a study (resume is {config.resume}); set resume=true or another folder")
    data = _read(config)
    require_same_study(config)
    tracking = Tracking()
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())
    cells = [cell for cell in config.cells() if _possible(config, cell, data)]
    found: list[dict[str, Any]] = []
    tags = {"algorithm": "predictors", "data_hash": data.sha256}
    with (
        tracking.run(config.study, tags=tags, marker=config.folder / "mlflow_run") as study,
        progress(config.study, len(cells)) as on_progress,
    ):
        study.config(config)
        log_rows(study, config.rows, data.sha256, len(data.rows))
        for done, cell in enumerate(cells):
            on_progress(done, str(cell))
            found.append(scored(config, cell, data, tracking, study))
        on_progress(len(cells), "done")
        tables = config.folder / TABLES
        results = _write(tables / RESULTS, [row for one in found for row in one["scores"]])
        if data.judged is not None:
            _write(tables / PAIRS, [row for one in found for row in one["pairs"]])
        study.folder(tables)
    return results


def _read(config: ForecastsConfig) -> Data:
    rows = read_rows(config.rows, config.jitter, config.transmit)
    judged = None if config.judged is None else read_rows(config.judged, config.jitter, config.transmit, SPLITS)
    of_judged = None if config.judged is None else hashlib.sha256(config.judged.read_bytes()).hexdigest()
    return Data(rows, judged, hashlib.sha256(config.rows.read_bytes()).hexdigest(), of_judged)


def _rows_of(config: ForecastsConfig, cell: FitCell, rows: Rows) -> Rows:
    """Return the rows of a cell's set."""
    return chosen(rows, config.sets[cell.rows].worlds, config.receivers)


def _possible(config: ForecastsConfig, cell: FitCell, data: Data) -> bool:
    """Return True if the set has rows, and enough pairs if pairs are held out."""
    rows = _rows_of(config, cell, data.rows)
    return len(rows) > 0 and (cell.holdout != "pair" or len(set(zip(rows["scenario"], rows["pair"], strict=True))) >= MIN_PAIRS)


def scored(config: ForecastsConfig, cell: FitCell, data: Data, tracking: Tracking, study: Run) -> dict[str, Any]:
    """Return the scores of one fit, computed now or cached."""
    home = config.folder / cell.method / cell.rows / cell.holdout / f"seed-{cell.seed}"
    tags = {"algorithm": cell.method, "seed": str(cell.seed), "data_hash": data.sha256}

    def fit() -> dict[str, Any]:
        with tracking.run(str(cell), parent=study, tags=tags, marker=home / "mlflow_run") as run:
            return _fit(config, cell, data, home, run)

    settings = config.methods[cell.method].model_dump(mode="json"), config.sets[cell.rows].model_dump(mode="json"), config.receivers
    inputs = config.jitter, config.transmit, data.sha256, data.judged_sha256
    found: dict[str, Any] = kept_document(home / SCORED, (cell, settings, inputs), fit)
    return found


def _fit(config: ForecastsConfig, cell: FitCell, data: Data, home: Path, run: Run) -> dict[str, Any]:
    alone = {"methods": {cell.method: config.methods[cell.method]}, "sets": {cell.rows: config.sets[cell.rows]}}
    run.config(config.model_copy(update=alone | {"holdouts": [cell.holdout], "seeds": [cell.seed]}))
    log_rows(run, config.rows, data.sha256, len(data.rows))
    parts = partition(_rows_of(config, cell, data.rows), cell.holdout, cell.seed)
    fitted = config.methods[cell.method].fit(parts.fit, parts.check, cell.seed, Site(home, run.metrics))
    actual_ms, forecast_ms = parts.test.target_ms, fitted.predict(parts.test)
    by_mode = {ALL_MODES: scores(actual_ms, forecast_ms), **_by_group(parts.test["mode"], actual_ms, forecast_ms)}
    run.metrics(by_mode[ALL_MODES] | _coverage(fitted, parts.test), 0)
    run.folder(draw(home / "figures", str(cell), getattr(fitted, "history", None), actual_ms, forecast_ms))
    return {
        "scores": [{**cell._asdict(), "mode": mode, **values} for mode, values in by_mode.items()],
        "pairs": [] if data.judged is None else _judge(config, cell, data.judged, fitted),
    }


def _coverage(fitted: FittedMethod, rows: Rows) -> dict[str, float]:
    """Return the share of delays between the lowest and the highest forecast quantile, if the method forecasts quantiles."""
    if not isinstance(fitted, TrainedQuantiles):
        return {}
    low, *_, high = fitted.quantiles(rows).T
    return {"between_quantiles": float(np.mean((low <= rows.target_ms) & (rows.target_ms <= high)))}


def _judge(config: ForecastsConfig, cell: FitCell, judged: Rows, fitted: FittedMethod) -> list[dict[str, Any]]:
    """Return scores pair by pair over all splits; the column split identifies pairs that were not used in training."""
    rows = _rows_of(config, cell, judged)
    forecast_ms = fitted.predict(rows)
    keys = np.array([" ".join(key) for key in zip(rows["scenario"], rows["mode"], rows["split"], rows["pair"], strict=True)], object)
    return [
        {**cell._asdict(), **dict(zip(("scenario", "mode", "split", "pair"), key.split(" "), strict=True)), **values}
        for key, values in _by_group(keys, rows.target_ms, forecast_ms).items()
    ]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), buffer, compression="zstd")
    replace_file(path, buffer.getvalue().to_pybytes())
    return path


def _by_group(keys: NDArray[Any], actual_ms: NDArray[np.float64], forecast_ms: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """Return `scores` of the rows of each key."""
    return {key: scores(actual_ms[keys == key], forecast_ms[keys == key]) for key in sorted(set(keys.tolist()))}
