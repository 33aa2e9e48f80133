"""A network of two hidden layers with one output, as rules inside the loop compute it."""

import numpy as np
import torch
from numpy.typing import NDArray


class TwoLayers(torch.nn.Module):
    """w3 relu(W2 relu(W1 x + b1) + b2) + b3.

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

    def output(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output (...) for features (..., width)."""
        out: torch.Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return out[..., 0]

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return the weights (width + 1, hidden), (hidden + 1, hidden), (hidden + 1,) of a rule; the last row is the bias."""
        first, second, last = (with_bias(layer) for layer in (self.first, self.second, self.last))
        return first, second, np.ascontiguousarray(last[:, 0])

    def load_arrays(self, first: NDArray[np.float32], second: NDArray[np.float32], last: NDArray[np.float32]) -> None:
        """Take the weights of a rule over, in the form of `arrays`."""
        with torch.no_grad():
            for layer, weights in zip((self.first, self.second, self.last), (first, second, last[:, None]), strict=True):
                layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights[:-1].T)))
                layer.bias.copy_(torch.from_numpy(np.ascontiguousarray(weights[-1])))


def with_bias(layer: torch.nn.Linear) -> NDArray[np.float32]:
    """Return the weights (width + 1, units) of a layer; the last row is its bias."""
    return np.ascontiguousarray(torch.cat([layer.weight.T, layer.bias[None]]).detach().numpy(), np.float32)
