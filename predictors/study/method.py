"""A way to forecast end-to-end delay: settings that `fit` to rows, and what comes of it, which `predict`s for other rows.

Methods are trained and compared offline; the ones that run inside calls (`vcgym.predictors.predictor`) come out of a fit of `Dnn`.
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
        folder: of checkpoints, from which a fit that was stopped goes on; None: it cannot.
        log: takes metric values by name and the number of epochs they were seen after.
        tell: takes the number of epochs done and what there is to say.
    """

    folder: Path | None = None
    log: Callable[[dict[str, float], int], None] = lambda metrics, epoch: None
    tell: Callable[[int, str], None] = lambda done, note: None


class Fitted(Protocol):
    """Result of a fit."""

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        """Return (n,) end-to-end delays in ms from the inputs of the rows and of earlier rows of the same calls, never from a target."""


class Method(BaseModel, ABC):
    """Settings of a method; takes nothing it does not know and converts nothing silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    @abstractmethod
    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> Fitted:
        """Learn from `rows`; `check` serves to stop early, `seed` for whatever is drawn."""
