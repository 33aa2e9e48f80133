"""A tabulated predictor: bilinear between grid points, faster but not exact. The exact predictor is the default everywhere.

A table stores its error against the exact predictor; every result computed with a table must be shown with that error.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.predictors.mlp import RANGES_MS
from vcgym.predictors.predictor import check_predictor, predict_e2e, predict_each

FINER = 4  # the error is measured on a grid this many times as dense


class DelayTable(NamedTuple):
    """Parameters, made by `tabulate`. The grid begins at 0 ms for both inputs; an input beyond an edge is clipped to it."""

    e2e_ms: NDArray[np.float32]  # (transmit delays, jitters), both at least 2
    per_transmit_step: float  # 1 / step, per ms
    per_jitter_step: float  # 1 / step, per ms
    largest_error_ms: float  # maximum absolute error against the exact predictor on a denser grid of the same range; unknown beyond it
    mean_error_ms: float


@check_predictor.register(DelayTable)
def require_table(params: DelayTable) -> None:
    """Raise an error for a table that look-ups would misread.

    Raises:
        TypeError: the grid is not a float32 array.
        ValueError: the grid has too few rows or columns or a non-finite value; a step is not positive.
    """
    grid = params.e2e_ms
    if not isinstance(grid, np.ndarray) or grid.dtype != np.float32:
        found = grid.dtype if isinstance(grid, np.ndarray) else type(grid).__name__
        raise TypeError(f"DelayTable.e2e_ms is of type {found}; allowed is an array of float32")
    if grid.ndim != 2 or min(grid.shape) < 2:
        raise ValueError(f"DelayTable.e2e_ms has shape {grid.shape}; allowed are two axes of at least 2")
    if not np.isfinite(grid).all():
        raise ValueError(f"DelayTable.e2e_ms holds {grid[~np.isfinite(grid)][0]}; allowed are finite numbers")
    for name in ("per_transmit_step", "per_jitter_step"):
        if not 0.0 < getattr(params, name) < math.inf:
            raise ValueError(f"DelayTable.{name} is {getattr(params, name)}; allowed is a number above 0")


def tabulate(
    predictor: Any,
    transmit_step_ms: float = 2.0,
    jitter_step_ms: float = 2.0,
    ranges_ms: tuple[tuple[float, float], tuple[float, float]] = RANGES_MS,
) -> DelayTable:
    """Tabulate any predictor; return the table and its maximum and mean absolute error.

    Args:
        predictor: predictor to tabulate.
        transmit_step_ms: step between rows.
        jitter_step_ms: step between columns.
        ranges_ms: ranges of transmit delay and jitter, (0, high) each; the last grid point is at or just above high.

    Raises:
        ValueError: a range does not begin at 0, or a step is not in (0, high].
    """
    steps_ms = (transmit_step_ms, jitter_step_ms)
    for name, step_ms, (low_ms, high_ms) in zip(("transmit_step_ms", "jitter_step_ms"), steps_ms, ranges_ms, strict=True):
        if low_ms != 0.0 or not 0.0 < step_ms <= high_ms < math.inf:
            raise ValueError(f"{name} is {step_ms} on the range ({low_ms}, {high_ms}) ms; allowed is 0 < step <= high, from 0 on")
    counts = [math.ceil(high_ms / step_ms) + 1 for step_ms, (_, high_ms) in zip(steps_ms, ranges_ms, strict=True)]
    grid = predict_each(predictor, *_grid(counts, steps_ms)).astype(np.float32)
    table = DelayTable(grid, 1.0 / transmit_step_ms, 1.0 / jitter_step_ms, math.nan, math.nan)
    denser = _grid([(count - 1) * FINER + 1 for count in counts], [step_ms / FINER for step_ms in steps_ms])
    errors_ms = np.abs(predict_each(table, *denser) - predict_each(predictor, *denser))
    return table._replace(largest_error_ms=float(errors_ms.max()), mean_error_ms=float(errors_ms.mean()))


def _grid(counts, steps_ms):
    rows, columns = (np.arange(count) * step_ms for count, step_ms in zip(counts, steps_ms, strict=True))
    return rows[:, None], columns[None, :]


@predict_e2e.register(DelayTable)
def table_e2e(params, transmit_delay_ms, jitter_ms):
    """Look up one forecast."""
    grid = params.e2e_ms
    y = min(max(transmit_delay_ms * params.per_transmit_step, 0.0), grid.shape[0] - 1.0)
    x = min(max(jitter_ms * params.per_jitter_step, 0.0), grid.shape[1] - 1.0)
    row, column = min(int(y), grid.shape[0] - 2), min(int(x), grid.shape[1] - 2)
    down, right = np.float64(y - row), np.float64(x - column)
    above = grid[row, column] + right * (grid[row, column + 1] - grid[row, column])
    below = grid[row + 1, column] + right * (grid[row + 1, column + 1] - grid[row + 1, column])
    return above + down * (below - above)
