"""The set network in torch, for training; `vcgym.agents.networks.description` defines what it computes.

The value network has its own trunk; the value is linear in its t.
"""

import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import nn

from vcgym.agents.networks.description import ABSENT, LAG_WIDTH, Layer, SetNetwork
from vcgym.agents.networks.observation import ObservedPart, item_kind
from vcgym.envs.environments.vector.actions import LEVELS

PEAK_FACTOR = 1.4  # initial lag as a multiple of the largest excess of the last 2 s
_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"tanh": torch.tanh, "relu": torch.relu, "linear": lambda x: x}


class SetTrunk(nn.Module):
    """Encoder of a set network: computes e of each item, and t.

    Args:
        network: description of the network.
        items: number of items in an observation; 0 without items.
    """

    def __init__(self, network: SetNetwork, items: int) -> None:
        super().__init__()
        self.network, self.items = network, items
        if network.items:
            self.encode = _linear(network.encode)
        self.trunk = _linear(network.trunk)

    def gather(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Encode the observation: return t (batch, hidden), and e (batch, items, encoding), or None without items."""
        of_items, context = self.split(observation if self.network.raw else torch.asinh(observation))
        if self.network.items is None:
            return _run(self.trunk, self.network.trunk, context), None
        raw = self.split(observation)[0]
        inputs = torch.cat([of_items, context[:, None].expand(-1, self.items, -1)], dim=2)
        encoded = _run(self.encode, self.network.encode, inputs)
        return _run(self.trunk, self.network.trunk, torch.cat([context, *self._pool(encoded, raw)], dim=1)), encoded

    def _pool(self, encoded: torch.Tensor, raw: torch.Tensor) -> list[torch.Tensor]:
        assert self.network.items is not None
        mask, selected = self.network.items.mask, self.network.items.selected
        if mask is None:
            pooled = [encoded.mean(dim=1), encoded.amax(dim=1)]
        else:
            present = raw[:, :, mask : mask + 1]
            mean = (encoded * present).sum(dim=1) / torch.clamp(present.sum(dim=1), min=1.0)
            pooled = [mean, torch.clamp((encoded * present).amax(dim=1), min=0.0)]  # at least 0, whatever the number of absent items
        return pooled if selected is None else [*pooled, (encoded * raw[:, :, selected : selected + 1]).sum(dim=1)]

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the features of the items (batch, items, width) and of the context (batch, rest)."""
        width = self.network.items.width if self.network.items else 0
        border = self.items * width
        return observation[:, :border].reshape(len(observation), self.items, width), observation[:, border:]


class SetNet(SetTrunk):
    """Whole network: from an observation to the outputs of a policy."""

    def __init__(self, network: SetNetwork, items: int) -> None:
        super().__init__(network, items)
        if network.items:
            self.score = _linear(network.score)
            self.skip = _linear(network.skip, bias=False)
        if network.rest:
            self.rest = _linear(network.rest)

    def init_to_heuristic(self, of_items: ObservedPart | None, scale: float) -> None:
        """Initialise the outputs near zero and the skip connection to the rule of `item_kind`.

        Args:
            of_items: the part of items; None without items.
            scale: scale of the rule's weights; 1 for logits.
        """
        with torch.no_grad():
            if of_items is not None:
                nn.init.orthogonal_(_last(self.score).weight, 0.01)
                skip = _last(self.skip).weight.zero_()
                for score, weights in enumerate(item_kind(of_items.name).rule):
                    for name, weight in weights.items():
                        if name in of_items.features:
                            skip[score, of_items.features.index(name)] = weight
                skip *= scale
            if self.network.rest:
                nn.init.orthogonal_(_last(self.rest).weight, 0.01)
                if self.network.lag_peak is not None:
                    _last(self.rest).bias[0] = math.log10(PEAK_FACTOR)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return the outputs (batch, items * scores + rest): the first score of each item, the second of each, ..., then the others."""
        return self.outputs(observation, *self.gather(observation))

    def outputs(self, observation: torch.Tensor, trunk: torch.Tensor, encoded: torch.Tensor | None) -> torch.Tensor:
        """Return the outputs of `forward`, given what `gather` returned for the same observation."""
        parts = []
        if encoded is not None:
            parts.append(self._scores(observation, trunk, encoded))
        if self.network.rest:
            rest = _run(self.rest, self.network.rest, trunk)
            peak = self.network.lag_peak
            parts.append(rest if peak is None else _lag_logits(self.split(observation)[1][:, peak], rest))
        return torch.cat(parts, dim=1)

    def _scores(self, observation: torch.Tensor, trunk: torch.Tensor, encoded: torch.Tensor) -> torch.Tensor:
        assert self.network.items is not None
        raw = self.split(observation)[0]
        both = torch.cat([encoded, trunk[:, None].expand(-1, self.items, -1)], dim=2)
        scores = _run(self.score, self.network.score, both) + _run(self.skip, self.network.skip, raw)
        mask = self.network.items.mask
        if mask is not None:
            scores = torch.where(raw[:, :, mask : mask + 1] > 0.0, scores, torch.full_like(scores, ABSENT))
        return scores.transpose(1, 2).reshape(len(observation), -1)


def _linear(layers: Sequence[Layer], bias: bool = True) -> nn.ModuleList:
    return nn.ModuleList([nn.Linear(layer.inputs, layer.outputs, bias=bias) for layer in layers])


def _run(linear: nn.ModuleList, layers: Sequence[Layer], values: torch.Tensor) -> torch.Tensor:
    for module, layer in zip(linear, layers, strict=True):
        values = _ACTIVATIONS[layer.activation](module(values))
    return values


def _last(linear: nn.ModuleList) -> nn.Linear:
    return cast(nn.Linear, linear[-1])


def _lag_logits(peak_100_ms: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    expected = torch.log10(torch.clamp(10.0 * peak_100_ms, min=1.0)) - 1.0
    width = LAG_WIDTH * torch.exp(rest[:, 1])
    positions = torch.linspace(-1.0, 1.0, LEVELS, device=rest.device)
    return -0.5 * ((positions - (expected + rest[:, 0])[:, None]) / width[:, None]) ** 2
