"""Networks with one output, as rules inside the loop compute them."""

import numpy as np
import torch
from numpy.typing import NDArray

SMALLEST_UNIT = 0.01  # a feature that hardly varies in the examples would else have weights without bound


class TwoLayers(torch.nn.Module):
    """w3 relu(W2 relu(W1 (x - mean) / unit + b1) + b2) + b3; a rule has mean and unit in its first weights.

    Attributes:
        mean: (width,), 0 until `measure`.
        unit: (width,), 1 until `measure`.

    Args:
        width: features.
        hidden: units in each of the two layers.
        start: initial bias of the output; its weights begin at a tenth of torch's.
    """

    def __init__(self, width: int, hidden: int, start: float) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, hidden)
        self.second = torch.nn.Linear(hidden, hidden)
        self.last = torch.nn.Linear(hidden, 1)
        with torch.no_grad():
            self.last.weight.mul_(0.1)
            self.last.bias.fill_(start)
        self.mean: torch.Tensor
        self.unit: torch.Tensor
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("unit", torch.ones(width))

    def measure(self, x: torch.Tensor) -> None:
        """Take mean and standard deviation of the features from examples (n, width): all features then learn at one speed."""
        self.mean.copy_(x.mean(0))
        self.unit.copy_(x.std(0).clamp(min=SMALLEST_UNIT))

    def output(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output (...) for features (..., width)."""
        out: torch.Tensor = self.last(torch.relu(self.second(torch.relu(self.first((x - self.mean) / self.unit)))))
        return out[..., 0]

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return the weights (width + 1, hidden), (hidden + 1, hidden), (hidden + 1,) of a rule; the last row is the bias."""
        weight = self.first.weight / self.unit
        first = joined(weight, self.first.bias - weight @ self.mean)
        return first, with_bias(self.second), np.ascontiguousarray(with_bias(self.last)[:, 0])

    def load_arrays(self, first: NDArray[np.float32], second: NDArray[np.float32], last: NDArray[np.float32]) -> None:
        """Take the weights of a rule over, in the form of `arrays`."""
        with torch.no_grad():
            self.mean.zero_()
            self.unit.fill_(1.0)
            for layer, weights in zip((self.first, self.second, self.last), (first, second, last[:, None]), strict=True):
                layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights[:-1].T)))
                layer.bias.copy_(torch.from_numpy(np.ascontiguousarray(weights[-1])))


class WeightedSum(torch.nn.Module):
    """A sum of features, each with its weight: a network without layers.

    Args:
        width: features.
        start: initial weight of the first feature; the others begin at a tenth of torch's.
        speed: a step of an optimiser moves these few weights as many times as far as those of a network.
    """

    def __init__(self, width: int, start: float, speed: float) -> None:
        super().__init__()
        self.first, self.speed = torch.nn.Linear(width, 1, bias=False), speed
        with torch.no_grad():
            self.first.weight.mul_(0.1 / speed)[0, 0] = start / speed

    def output(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum (...) of features (..., width)."""
        out: torch.Tensor = self.speed * self.first(x)
        return out[..., 0]

    def arrays(self) -> tuple[NDArray[np.float32]]:
        """Return the weights (width,) of a rule."""
        return (self.speed * self.first.weight.detach().numpy()[0],)


def with_bias(layer: torch.nn.Linear) -> NDArray[np.float32]:
    """Return the weights (width + 1, units) of a layer; the last row is its bias."""
    return joined(layer.weight, layer.bias)


def joined(weight: torch.Tensor, bias: torch.Tensor) -> NDArray[np.float32]:
    """Return weights (units, width) and a bias (units,) as the weights (width + 1, units) of a rule."""
    return np.ascontiguousarray(torch.cat([weight.T, bias[None]]).detach().numpy(), np.float32)
