"""Forecasts without a network: last delay, last delay plus jitter, exponential smoothing, linear regression."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lab.studies.forecasts.methods.method import Method
from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Site

Weight = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class FittedLine:
    """Linear forecast: transmit delay * slope + jitter * slope + intercept."""

    slopes: NDArray[np.float64]
    intercept_ms: float

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        return np.asarray(rows.inputs @ self.slopes + self.intercept_ms)


class LastDelay(Method):
    """Newest fed-back delay of the path, without the delay added at the receiver."""

    kind: Literal["last"] = "last"

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> FittedLine:
        return FittedLine(np.array([1.0, 0.0]), 0.0)


class DelayPlusJitter(Method):
    """Newest fed-back delay plus jitter; exact if delay and lag are constant."""

    kind: Literal["sum"] = "sum"

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> FittedLine:
        return FittedLine(np.array([1.0, 1.0]), 0.0)


class LeastSquares(Method):
    """Least squares on both inputs."""

    kind: Literal["linear"] = "linear"

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> FittedLine:
        design = np.column_stack([rows.inputs, np.ones(len(rows))])
        (transmit, jitter, intercept), *_ = np.linalg.lstsq(design, rows.target_ms)
        return FittedLine(np.array([transmit, jitter]), float(intercept))


class Ewma(Method):
    """Exponentially smoothed fed-back delays of a call, plus jitter.

    Attributes:
        weights: candidate weights of the newest value; the fit selects the one with the minimum mean absolute error on its rows.
    """

    kind: Literal["ewma"] = "ewma"
    weights: Annotated[tuple[Weight, ...], Field(min_length=1, strict=False)] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> "Smoothed":
        tried = [Smoothed(weight) for weight in self.weights]
        return min(tried, key=lambda smoothed: float(np.abs(smoothed.predict(rows) - rows.target_ms).mean()))


@dataclass(frozen=True)
class Smoothed:
    """Exponential smoothing of each path of each call, starting at its first value."""

    weight: float

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        session, path = rows.columns["session"], rows.columns["path"]
        values = rows.inputs_ms[:, 0].tolist()
        kept: dict[tuple[int, int], float] = {}
        smoothed = np.empty(len(values))
        for i, key in enumerate(zip(session.tolist(), path.tolist(), strict=True)):
            before = kept.get(key, values[i])
            smoothed[i] = kept[key] = before + self.weight * (values[i] - before)
        return np.asarray(smoothed[rows.at] + rows.inputs[:, 1])
