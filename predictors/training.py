"""Training of the VCRoute paper's predictor (arXiv 2310.05054, IV-B2): 2 - 64 - 64 - 64 - 1 with ReLU, 8,577 parameters.

The paper does not state the loss; the published code uses the mean absolute error, and Adam at its default rate. Values are standardised,
and a training stops early by the loss on held-out rows. It is deterministic on one platform with one thread: after the initial weights only
the order of rows is random, and it follows from seed and epoch.
The fitted network runs compiled, without torch (`vcgym.predictors.mlp`), and can be published.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vcgym.predictors.dnn import Dnn
from vcgym.predictors.mlp import HIDDEN, LAYERS, Network, make_network
from vcgym.predictors.rows import Rows

LOSSES: dict[str, nn.Module] = {"mae": nn.L1Loss(), "mse": nn.MSELoss(), "huber": nn.HuberLoss()}


class Site(NamedTuple):
    """Functions that are informed of a training.

    Attributes:
        log: called with metric values by name and the number of finished epochs.
        tell: called with the number of finished epochs and a note.
    """

    log: Callable[[dict[str, float], int], None] = lambda metrics, epoch: None
    tell: Callable[[int, str], None] = lambda done, note: None


def fit_dnn(settings: Dnn, rows: Rows, check: Rows, seed: int, site: Site) -> Network:
    """Train the network on `rows`, and stop by the loss on `check`; the weights are those of the best epoch on it."""
    scale, net = _scale_of(rows.inputs, rows.target_ms), untrained(seed)
    fit, held = (Examples(scale.inputs(part.inputs), scale.target(part.target_ms)) for part in (rows, check))
    torch.set_num_threads(settings.threads)
    optimiser, loss = torch.optim.Adam(net.parameters(), lr=settings.learning_rate), LOSSES[settings.loss]
    best, best_epoch, best_loss = _weights(net), -1, np.inf
    for epoch in range(settings.epochs):
        fit_loss = _epoch(net, optimiser, loss, fit, settings.batch_size, seed * settings.epochs + epoch)
        check_loss = float(loss(_outputs(net, held.inputs), held.targets))
        if check_loss < best_loss:
            best, best_epoch, best_loss = _weights(net), epoch, check_loss
        site.log({"loss/fit": fit_loss, "loss/check": check_loss}, epoch + 1)
        site.tell(epoch + 1, f"loss {fit_loss:.4f}, held out {check_loss:.4f}")
        if epoch - best_epoch >= settings.patience:
            break
    net.load_state_dict(best)
    return compiled(net, scale)


class InputScale(NamedTuple):
    """Mean and standard deviation of the inputs, (2,) each, and of the target."""

    input_mean_ms: NDArray[np.float64]
    input_sd_ms: NDArray[np.float64]
    output_mean_ms: float
    output_sd_ms: float

    def inputs(self, inputs_ms: NDArray[np.float64]) -> Tensor:
        """Return standardised inputs, float32."""
        return torch.from_numpy(((inputs_ms - self.input_mean_ms) / self.input_sd_ms).astype(np.float32))

    def target(self, target_ms: NDArray[np.float64]) -> Tensor:
        """Return the standardised target, float32."""
        return torch.from_numpy(((target_ms - self.output_mean_ms) / self.output_sd_ms).astype(np.float32))


def _scale_of(inputs_ms: NDArray[np.float64], target_ms: NDArray[np.float64]) -> InputScale:
    """Return the scale of the training rows; a constant column is only centred."""
    input_sd, output_sd = inputs_ms.std(0), float(target_ms.std())
    return InputScale(
        inputs_ms.mean(0), np.where(input_sd > 0.0, input_sd, 1.0), float(target_ms.mean()), output_sd if output_sd > 0.0 else 1.0
    )


class Examples(NamedTuple):
    """Inputs (n, ...) and targets (n,)."""

    inputs: Tensor
    targets: Tensor


def _weights(net: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _epoch(net: nn.Module, optimiser: torch.optim.Adam, loss: nn.Module, fit: Examples, batch_size: int, seed: int) -> float:
    """Train one pass over the rows; return the mean loss, where each batch is evaluated before its step."""
    total = torch.zeros(())
    order = torch.randperm(len(fit.targets), generator=torch.Generator().manual_seed(seed))
    for batch in order.split(batch_size):
        optimiser.zero_grad()
        value = loss(net(fit.inputs[batch])[:, 0], fit.targets[batch])
        value.backward()
        optimiser.step()
        total += value.detach() * len(batch)
    return float(total) / len(fit.targets)


def _outputs(net: nn.Module, inputs: Tensor) -> Tensor:
    """Evaluate `net` in batches."""
    with torch.no_grad():
        return torch.cat([net(part)[:, 0] for part in inputs.split(8192)])


def untrained(seed: int) -> nn.Sequential:
    """Build the network with torch's default initial weights, as in the published code; the state of torch's generator is restored."""
    widths = [weights[0] for weights, _ in LAYERS]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hidden = [part for width in widths[:-1] for part in (nn.Linear(width, HIDDEN), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(HIDDEN, 1))


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
