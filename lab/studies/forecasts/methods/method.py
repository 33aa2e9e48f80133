"""A method to forecast end-to-end delay: settings with `fit`, which returns a fitted method with `predict`.

Methods are trained and compared offline; a fit of `Dnn` gives the predictor that runs inside calls (`vcgym.predictors.predictor`).
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Site


class FittedMethod(Protocol):
    """Result of a fit."""

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        """Return (n,) end-to-end delays in ms from the inputs of the rows and of earlier rows of the same calls, never from targets."""


class Method(BaseModel, ABC):
    """Settings of a method; rejects unknown keys and implicit type conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    @abstractmethod
    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> FittedMethod:
        """Fit to `rows`; `check` is used for early stopping, `seed` for sampling."""
