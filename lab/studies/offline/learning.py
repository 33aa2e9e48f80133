"""Policies learned from logged calls alone: behaviour cloning, and advantage-weighted regression.

Advantage-weighted regression (Peng et al. 2019, arXiv 1910.00177) is cloning with weights exp(advantage / temperature), at most 20 as
there. The advantage is the sum of the next rewards, less its regression on the observation.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.studies.offline.calls import Logged, Policy

HIDDEN = 64
BATCH = 512
LEARNING_RATE = 1e-3
MAX_WEIGHT = 20.0


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Return a network with two layers of HIDDEN units: (n, inputs) to (n, outputs)."""
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))


def fit(net: nn.Module, seen: torch.Tensor, loss_of: nn.Module, targets: torch.Tensor, weights: torch.Tensor, epochs: int) -> None:
    """Minimise the weighted mean of a loss without reduction over (net(seen), targets) by Adam, in shuffled batches."""
    optimiser = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    for _ in range(epochs):
        for rows in torch.randperm(len(seen)).split(BATCH):
            loss = (weights[rows] * loss_of(net(seen[rows]), targets[rows])).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def clone(logged: Logged, actions: int, seed: int, epochs: int = 20, weights: NDArray[np.float64] | None = None) -> Policy:
    """Return the policy that imitates the logged decisions, each with its weight (n, T); None: one.

    Args:
        logged: the calls.
        actions: number of actions.
        seed: seed of the weights and of the batches.
        epochs: passes over the data.
        weights: weight of each decision, at least 0.
    """
    torch.manual_seed(seed)
    seen = torch.from_numpy(logged.observations[:, :-1].reshape(-1, logged.observations.shape[2]))
    net = network(seen.shape[1], actions)
    weight = torch.ones(len(seen)) if weights is None else torch.from_numpy(weights.ravel()).float()
    fit(net, seen, nn.CrossEntropyLoss(reduction="none"), torch.from_numpy(logged.actions.ravel()), weight, epochs)

    @torch.no_grad()
    def policy(observations: NDArray[np.float32]) -> NDArray[np.float64]:
        return net(torch.from_numpy(observations)).double().softmax(dim=1).numpy()

    return policy


def advantages(logged: Logged, seed: int, horizon: int, epochs: int = 20) -> NDArray[np.float64]:
    """Return the advantage (n, T) of each decision: the next `horizon` rewards, less their regression on the observation."""
    torch.manual_seed(seed)
    sums = np.cumsum(np.pad(logged.rewards, ((0, 0), (1, horizon))), axis=1)
    returns = sums[:, horizon:][:, : logged.rewards.shape[1]] - sums[:, : logged.rewards.shape[1]]
    seen = torch.from_numpy(logged.observations[:, :-1].reshape(-1, logged.observations.shape[2]))
    targets = torch.from_numpy(returns.ravel()).float()[:, None]
    centre, scale = targets.mean(), targets.std()
    net = network(seen.shape[1], 1)
    fit(net, seen, nn.MSELoss(reduction="none"), (targets - centre) / scale, torch.ones(len(seen), 1), epochs)
    with torch.no_grad():
        return returns - (centre + scale * net(seen)).double().numpy().reshape(returns.shape)


def weigh(logged: Logged, actions: int, seed: int, temperature: float = 0.2, horizon: int = 3) -> Policy:
    """Return the policy of advantage-weighted regression.

    Args:
        logged: the calls.
        actions: number of actions.
        seed: seed of weights and batches.
        temperature: scale of the advantages in the weights, in standard deviations of the advantage, above 0.
        horizon: rewards that a decision is credited with, at least 1.
    """
    gain = advantages(logged, seed, horizon)
    weights = np.minimum(np.exp(gain / (temperature * gain.std())), MAX_WEIGHT)
    return clone(logged, actions, seed, weights=weights / weights.mean())
