"""Pictures of one fit: loss, residuals, calibration, and the distribution of the relative error (Figure 14 of arXiv 2310.05054)."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vcgym.leaderboard.forecasts.scores import CLOSE
from vcgym.predictors.training import History

_GROUPS = 20


def draw(folder: Path, title: str, history: History | None, actual_ms: NDArray[np.float64], forecast_ms: NDArray[np.float64]) -> Path:
    """Write the pictures of a fit as PNG; the loss is drawn only if there is a history.

    Returns:
        `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    error_ms = forecast_ms - actual_ms
    pictures = {}
    if history is not None:
        pictures["loss"] = _loss(title, history)
    pictures["residuals"] = _residuals(title, error_ms)
    pictures["calibration"] = _calibration(title, actual_ms, forecast_ms)
    pictures["relative_error"] = _relative_error(title, np.abs(error_ms) / actual_ms)
    for name, figure in pictures.items():
        figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
    return folder


def _axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.2, 3.3), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y, title=title)
    axes.grid(linewidth=0.4)
    return figure, axes


def _loss(title: str, history: History) -> Figure:
    figure, axes = _axes(title, "epoch", "loss of the standardised delay")
    for label, losses in (("learnt from", history.fit), ("held out to stop by", history.check)):
        axes.plot(np.arange(1, len(losses) + 1), losses, label=label)
    axes.legend()
    return figure


def _residuals(title: str, error_ms: NDArray[np.float64]) -> Figure:
    figure, axes = _axes(title, "forecast minus actual delay (ms), middle 99 %", "packets")
    low, high = np.percentile(error_ms, [0.5, 99.5])
    axes.hist(error_ms, bins=80, range=(low, max(high, low + 1e-6)))
    return figure


def _calibration(title: str, actual_ms: NDArray[np.float64], forecast_ms: NDArray[np.float64]) -> Figure:
    """Draw the mean and the 10th to 90th percentile of the actual delay for twenty groups of rows, sorted by forecast."""
    figure, axes = _axes(title, "forecast (ms), mean of a twentieth of the rows", "actual delay (ms)")
    groups = [group for group in np.array_split(np.argsort(forecast_ms, kind="stable"), _GROUPS) if len(group)]
    forecast, actual = (np.array([values[group].mean() for group in groups]) for values in (forecast_ms, actual_ms))
    spread = np.array([np.percentile(actual_ms[group], [10.0, 90.0]) for group in groups])
    axes.plot(forecast, forecast, color="0.6", label="as forecast")
    axes.vlines(forecast, *spread.T, color="0.8")
    axes.plot(forecast, actual, "o", markersize=3, label="mean; line: 10 to 90 %")
    axes.legend()
    return figure


def _relative_error(title: str, relative: NDArray[np.float64]) -> Figure:
    figure, axes = _axes(title, "relative error (%)", "share of packets (%)")
    axes.plot(100.0 * np.quantile(relative, np.linspace(0.0, 1.0, 501)), np.linspace(0.0, 100.0, 501))
    axes.axvline(100.0 * CLOSE, color="0.6")
    axes.set_xlim(0.0, 60.0)
    return figure
