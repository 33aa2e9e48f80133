"""Scores of forecasts: the paper's three figures, and others that they hide."""

import numpy as np
from numpy.typing import NDArray

CLOSE = 0.1  # maximum relative error that the paper counts as close


def scores(actual_ms: NDArray[np.float64], forecast_ms: NDArray[np.float64]) -> dict[str, float]:
    """Return the scores of n forecasts.

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
