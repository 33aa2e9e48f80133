"""Training of the VCRoute paper's predictor (arXiv 2310.05054, IV-B2): 2 - 64 - 64 - 64 - 1 with ReLU, 8,577 parameters.

The paper does not state the loss; the published code uses the mean absolute error, and Adam at its default rate.
The fitted network runs compiled, without torch (`vcgym.predictors.mlp`), and can be published.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vcgym.predictors.dnn import Dnn
from vcgym.predictors.mlp import HIDDEN, LAYERS, Network, make_network
from vcgym.predictors.predictor import predict_each
from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Examples, History, InputScale, Site, scale_of, seeded, train

LOSSES: dict[str, nn.Module] = {"mae": nn.L1Loss(), "mse": nn.MSELoss(), "huber": nn.HuberLoss()}


def fit_dnn(settings: Dnn, rows: Rows, check: Rows, seed: int, site: Site) -> "TrainedDnn":
    """Train the network on `rows`, and stop by the loss on `check`."""
    scale = scale_of(rows.inputs, rows.target_ms)
    net, loss = seeded(lambda: layers(1), seed), LOSSES[settings.loss]
    learnt, held = (Examples(scale.inputs(part.inputs), scale.target(part.target_ms)) for part in (rows, check))
    history = train(net, lambda output, target: loss(output[:, 0], target), learnt, held, settings, seed, site)
    return TrainedDnn(compiled(net, scale), history)


@dataclass(frozen=True)
class TrainedDnn:
    """Trained network in the form that runs inside calls."""

    network: Network
    history: History

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        return predict_each(self.network, rows.inputs[:, 0], rows.inputs[:, 1])


def layers(outputs: int) -> nn.Sequential:
    """Return the untrained network with torch's default initial weights, as in the published code."""
    widths = [weights[0] for weights, _ in LAYERS]
    hidden = [part for width in widths[:-1] for part in (nn.Linear(width, HIDDEN), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(HIDDEN, outputs))


def compiled(net: nn.Module, scale: InputScale) -> Network:
    """Convert the network to parameters of the compiled forward pass."""
    linear = [part for part in net.modules() if isinstance(part, nn.Linear)]
    arrays = [
        (np.ascontiguousarray(layer.weight.detach().numpy().T.reshape(shape)), layer.bias.detach().numpy())
        for layer, (shape, _) in zip(linear, LAYERS, strict=True)
    ]
    transmit_mean, jitter_mean = scale.input_mean_ms.tolist()
    transmit_sd, jitter_sd = scale.input_sd_ms.tolist()
    return make_network(arrays, (transmit_mean, jitter_mean), (transmit_sd, jitter_sd), scale.output_mean_ms, scale.output_sd_ms)
