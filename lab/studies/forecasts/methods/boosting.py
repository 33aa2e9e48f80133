"""Gradient boosting of regression trees on histograms (scikit-learn) on the two inputs."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from lab.studies.forecasts.methods.method import Method
from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Site


class Boosting(Method):
    """Settings, named as in scikit-learn.

    Attributes:
        loss: absolute_error, the default of the network too, or squared_error.
        max_iter: maximum number of trees.
        n_iter_no_change: trees without a better loss on the held-out rows before early stopping.
    """

    kind: Literal["boosting"] = "boosting"
    loss: Literal["absolute_error", "squared_error"] = "absolute_error"
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    max_iter: Annotated[int, Field(ge=1)] = 100
    max_leaf_nodes: Annotated[int, Field(ge=2)] = 31
    n_iter_no_change: Annotated[int, Field(ge=1)] = 10

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> "TreeEnsemble":
        trees = HistGradientBoostingRegressor(
            loss=self.loss, learning_rate=self.learning_rate, max_iter=self.max_iter, max_leaf_nodes=self.max_leaf_nodes,
            n_iter_no_change=self.n_iter_no_change, early_stopping=True, random_state=seed,
        )  # fmt: skip
        with threadpool_limits(1, "openmp"):  # more threads would busy-wait for each other on shared cores
            return TreeEnsemble(trees.fit(rows.inputs, rows.target_ms, X_val=check.inputs, y_val=check.target_ms))


@dataclass(frozen=True)
class TreeEnsemble:
    """Fitted ensemble of trees."""

    trees: HistGradientBoostingRegressor

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        with threadpool_limits(1, "openmp"):
            return np.asarray(self.trees.predict(rows.inputs))
