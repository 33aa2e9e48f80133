"""A memory in torch, as `vcgym.agents.controllers.recurrent_lag` computes it, with the exact gradient through whole calls.

h_t = h_(t-1) + z_t (v_t - h_(t-1)),        dL/dh_t = its own share + (1 - z_(t+1)) dL/dh_(t+1)
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from vcgym.network.kernels.jit import kernel

SHORTEST, LONGEST = 10.0, 1000.0
"""Arrivals over which the units remember at first, 0.1 to 10 s: a bias of -log(n) (Tallec and Ollivier 2018, arXiv 1804.11188)."""


@kernel
def _go(z, v, lengths, h):
    """Write the memory `h` after each arrival of calls that follow one another; arrays (arrivals, units), lengths (calls,)."""
    n = 0
    for length in lengths:
        for t in range(n, n + length):
            for j in range(h.shape[1]):
                before = h[t - 1, j] if t > n else 0.0
                h[t, j] = before + z[t, j] * (v[t, j] - before)
        n += length


@kernel
def _go_back(z, v, lengths, h, by_h, by_z, by_v):
    """Write the derivatives by `z` and `v`; `by_h`, those by `h`, become those through all later arrivals too."""
    n = 0
    for length in lengths:
        for t in range(n + length - 1, n - 1, -1):
            for j in range(h.shape[1]):
                if t + 1 < n + length:
                    by_h[t, j] += (1.0 - z[t + 1, j]) * by_h[t + 1, j]
                before = h[t - 1, j] if t > n else 0.0
                by_z[t, j], by_v[t, j] = by_h[t, j] * (v[t, j] - before), by_h[t, j] * z[t, j]
        n += length


class _Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, v: torch.Tensor, lengths: Any) -> torch.Tensor:
        h = torch.empty_like(z)
        _go(z.detach().numpy(), v.detach().numpy(), lengths, h.numpy())
        ctx.save_for_backward(z, v, h)
        ctx.lengths = lengths
        return h

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        z, v, h = (saved.detach().numpy() for saved in ctx.saved_tensors)
        by_z, by_v = np.empty_like(z), np.empty_like(z)
        _go_back(z, v, ctx.lengths, h, grads[0].numpy().copy(), by_z, by_v)
        return torch.from_numpy(by_z), torch.from_numpy(by_v), None


class LagMemory(torch.nn.Module):
    """Numbers kept from arrival to arrival.

    Args:
        width: features.
        units: numbers.
    """

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.gates, self.taken = torch.nn.Linear(width, units), torch.nn.Linear(width, units)
        with torch.no_grad():
            self.gates.bias.copy_(-torch.linspace(math.log(SHORTEST), math.log(LONGEST), units))

    def forward(self, x: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the memory (arrivals, units) for the features (arrivals, width) of calls of these lengths, one after another."""
        kept: torch.Tensor = _Keep.apply(torch.sigmoid(self.gates(x)), self.taken(x), np.array(lengths, np.int64))
        return kept
