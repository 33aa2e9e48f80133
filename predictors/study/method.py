"""A method to forecast end-to-end delay: settings with `fit`, which returns a fitted method with `predict`.

Methods are trained and compared offline; a fit of `Dnn` gives the predictor that runs inside calls (`vcgym.predictors.predictor`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vcgym.predictors.study.rows import Rows


class Site(NamedTuple):
    """Context of a fit: folders, device, seed.

    Attributes:
        folder: folder of checkpoints from which an interrupted fit resumes; None: no checkpoints.
        log: called with metric values by name and the number of finished epochs.
        tell: called with the number of finished epochs and a note.
    """

    folder: Path | None = None
    log: Callable[[dict[str, float], int], None] = lambda metrics, epoch: None
    tell: Callable[[int, str], None] = lambda done, note: None


class Fitted(Protocol):
    """Result of a fit."""

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        """Return (n,) end-to-end delays in ms from the inputs of the rows and of earlier rows of the same calls, never from targets."""


class Method(BaseModel, ABC):
    """Settings of a method; rejects unknown keys and implicit type conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    @abstractmethod
    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> Fitted:
        """Fit to `rows`; `check` is used for early stopping, `seed` for sampling."""
