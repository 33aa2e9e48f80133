"""The update of a network: PPO (Schulman et al. 2017, arXiv 1707.06347) over recorded decisions, a few whole calls at a time."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.inside.advantages import leave_one_out, returns
from vcgym.agents.inside.noise import Noise
from vcgym.agents.inside.rollout import Decisions, Rollout
from vcgym.agents.networks.two_layers import TwoLayers, WeightedSum


def advantages(played: Rollout, discount: float, replicas: int) -> NDArray[np.float32]:
    """Return the advantages (calls, decisions) of a rollout against the replicas of its worlds; `discount` is per 10 ms."""
    found, returned = np.zeros_like(played.gain), np.zeros_like(played.gain)
    returns(played.gain, played.slot, played.decided, discount, returned)
    slots = int(played.slot.max(initial=0)) + 1
    leave_one_out(returned, played.slot, played.decided, replicas, discount, np.zeros(slots), found)
    return found


def normalise(played: Rollout, advantage: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return advantages divided by the root of their standard deviation, so that kinds of worlds in which rewards vary little count too."""
    decided = np.arange(played.gain.shape[1]) < played.decided[:, None]
    spread = advantage[decided].std() if decided.any() else 0.0
    return advantage / np.float32(math.sqrt(spread)) if spread > 0.0 else advantage


def improve(
    network: TwoLayers | WeightedSum, noise: Noise, optimiser: torch.optim.Optimizer, calls: Sequence[Decisions],
    settings: InsidePPOConfig, draws: np.random.Generator,
) -> float:  # fmt: skip
    """Take one step per few calls, each call `n_epochs` times; return the share of decisions that the clip left out."""
    clipped, steps = 0.0, 0
    for _ in range(settings.n_epochs):
        order = draws.permutation(len(calls))
        for first in range(0, order.size, settings.calls_per_step):
            some = [calls[one] for one in order[first : first + settings.calls_per_step]]
            x, action, before, advantage = (torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*some, strict=True))
            if not len(x):
                continue
            log_prob = noise.log_prob(network.output(x), action, [len(one.x) for one in some])
            ratio = torch.exp(log_prob - before)
            within = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
            loss = -torch.minimum(ratio * advantage, within * advantage).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            clipped, steps = clipped + float((ratio != within).float().mean()), steps + 1
    return clipped / max(steps, 1)
