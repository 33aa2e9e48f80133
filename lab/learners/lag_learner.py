"""Learning a lag by the exact gradient of calls' R through the player, along recorded arrivals.

Arrivals do not depend on the lag, so features are computed once. The player's response to the targets is a recursion with two numbers of
state (`lab.learners.through_player`). Each step plays a few whole calls and follows the gradient of their mean R.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lab.learners.arrivals import RecordedArrivals
from lab.learners.through_player import ratings
from vcgym.agents.controllers.arrival_features import UNIT_MS, WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.networks.two_layers import TwoLayers

MAX_NORM = 1.0  # larger gradients are scaled down to this norm
START_BIAS = 0.5  # initial bias of the last layer: about 20 ms above the newest delay


class LagNet(TwoLayers):
    """The network of `LearnedLag` in torch.

    Args:
        hidden: units in each of the two layers.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__(WIDTH, hidden, START_BIAS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the target above the newest delay (ms) for features (..., WIDTH)."""
        return UNIT_MS * torch.nn.functional.softplus(self.output(x))

    def rule(self) -> LearnedLag:
        """Return the rule with the weights of this network."""
        return LearnedLag(*self.arrays())


class _Rating(torch.autograd.Function):
    """R of calls as a function of their targets."""

    @staticmethod
    def forward(ctx: Any, target_ms: torch.Tensor, arrivals: RecordedArrivals, which: NDArray[np.int64]) -> torch.Tensor:
        gradient, r = np.zeros(target_ms.shape), np.zeros(len(which))
        targets = target_ms.detach().numpy().astype(np.float64)
        calls = arrivals.delay_ms[which], arrivals.passed_ms[which], arrivals.overtaken[which], arrivals.arrived[which]
        ratings(targets, *calls, arrivals.packets, gradient, r, np.zeros((3, targets.shape[1])))
        ctx.save_for_backward(torch.from_numpy(gradient.astype(np.float32)))
        return torch.from_numpy(r.astype(np.float32))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (gradient,) = ctx.saved_tensors
        return grads[0][:, None] * gradient, None, None


def rating_of(net: LagNet, arrivals: RecordedArrivals, which: NDArray[np.int64]) -> torch.Tensor:
    """Return the smooth R of the calls `which`, differentiable with respect to the weights of `net`."""
    newest_ms = torch.from_numpy(arrivals.newest_ms[which].astype(np.float32))
    rating: torch.Tensor = _Rating.apply(newest_ms + net(torch.from_numpy(arrivals.features[which])), arrivals, which)
    return rating


def learn_lag(
    net: LagNet,
    sets: Sequence[RecordedArrivals],
    shares: NDArray[np.float64],
    steps: int,
    calls: int,
    learning_rate: float,
    seed: int,
    on_step: Callable[[int, float], None] = lambda step, r: None,
) -> None:
    """Train `net` in place with Adam and a step size that decays to zero.

    Args:
        net: the network.
        sets: recorded arrivals, one set per router.
        shares: (sets,) probability that a step uses each set; they add up to 1.
        steps: gradient steps.
        calls: calls per step, all from one set.
        learning_rate: initial step size.
        seed: seed of the sampling.
        on_step: called with the number of the step and its mean R.
    """
    draws = np.random.default_rng(seed)
    optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        arrivals = sets[draws.choice(len(sets), p=shares)]
        which = draws.choice(len(arrivals.arrived), min(calls, len(arrivals.arrived)), replace=False)
        r = rating_of(net, arrivals, which).mean()
        optimiser.zero_grad()
        (-r).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
        optimiser.step()
        schedule.step()
        on_step(step + 1, float(r.detach()))
