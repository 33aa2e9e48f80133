"""The same network with one output per quantile and the pinball loss (Koenker and Bassett 1978), to forecast uncertainty as well.

The point forecast is the median.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vcgym.predictors.dnn import layers
from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Examples, History, InputScale, NetworkMethod, Site, outputs, scale_of, seeded, train

QUANTILES = (0.1, 0.5, 0.9)


class QuantileDnn(NetworkMethod):
    """Settings: only those of the training."""

    kind: Literal["quantile"] = "quantile"

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> "TrainedQuantiles":
        scale = scale_of(rows.inputs, rows.target_ms)
        net = seeded(lambda: layers(len(QUANTILES)), seed)
        learnt, held = (Examples(scale.inputs(part.inputs), scale.target(part.target_ms)) for part in (rows, check))
        return TrainedQuantiles(net, scale, train(net, pinball, learnt, held, self, seed, site))


def pinball(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean over rows and quantiles q of max(q e, (q - 1) e), e = target - output."""
    quantiles = torch.tensor(QUANTILES)
    error = target[:, None] - output
    return torch.maximum(quantiles * error, (quantiles - 1.0) * error).mean()


@dataclass(frozen=True)
class TrainedQuantiles:
    """Fitted network."""

    net: nn.Module
    scale: InputScale
    history: History

    def quantiles(self, rows: Rows) -> NDArray[np.float64]:
        """Return (n, 3) delays in ms, ascending."""
        return np.sort(self.scale.delay_ms(outputs(self.net, self.scale.inputs(rows.inputs))), axis=1)

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        return np.asarray(self.quantiles(rows)[:, QUANTILES.index(0.5)])
