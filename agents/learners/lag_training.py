"""Training of a learned lag by the gradient through the player."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import UNIT_MS, WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.learners.arrivals import Arrivals
from vcgym.agents.learners.through_player import ratings


class _ThroughPlayer(torch.autograd.Function):
    """R of calls as a function of the targets."""

    @staticmethod
    def forward(ctx: Any, target_ms: torch.Tensor, arrivals: Arrivals, which: NDArray[np.int64]) -> torch.Tensor:
        gradient = np.zeros(target_ms.shape)
        r = np.zeros(len(which))
        ratings(
            target_ms.detach().numpy().astype(np.float64), arrivals.delay_ms[which], arrivals.passed_ms[which], arrivals.overtaken[which],
            arrivals.count[which], arrivals.packets, gradient, r, np.zeros((2, target_ms.shape[1])),
        )  # fmt: skip
        ctx.save_for_backward(torch.from_numpy(gradient.astype(np.float32)))
        return torch.from_numpy(r.astype(np.float32))

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        (gradient,) = ctx.saved_tensors
        return grad[:, None] * gradient, None, None


class Net(torch.nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, hidden)
        self.second = torch.nn.Linear(hidden, hidden)
        self.last = torch.nn.Linear(hidden, 1)
        with torch.no_grad():
            self.last.weight.mul_(0.1)
            self.last.bias.fill_(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.second(torch.relu(self.first(x))))
        return UNIT_MS * torch.nn.functional.softplus(self.last(h)[..., 0])

    def rule(self) -> LearnedLag:
        layers = [torch.cat([layer.weight.T, layer.bias[None]]).detach().numpy() for layer in (self.first, self.second, self.last)]
        first, second, last = (np.ascontiguousarray(layer, np.float32) for layer in layers)
        return LearnedLag(first, second, np.ascontiguousarray(last[:, 0]))


def train(
    sets: Sequence[Arrivals], steps: int, hidden: int = 32, calls: int = 32, rate: float = 2e-3, seed: int = 0,
    weights: Sequence[float] | None = None, net: Net | None = None, report: Callable[[int, float, Net], None] | None = None,
) -> Net:
    torch.manual_seed(seed)
    draws = np.random.default_rng(seed)
    net = net or Net(hidden)
    optimiser = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    share = np.array(weights if weights is not None else [len(one.count) for one in sets], float)
    share /= share.sum()
    total = 0.0
    for step in range(steps):
        arrivals = sets[draws.choice(len(sets), p=share)]
        which = draws.choice(len(arrivals.count), min(calls, len(arrivals.count)), replace=False)
        x = torch.from_numpy(arrivals.features[which])
        target = torch.from_numpy(arrivals.newest_ms[which].astype(np.float32)) + net(x)
        r = _ThroughPlayer.apply(target, arrivals, which).mean()
        optimiser.zero_grad()
        (-r).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        total += float(r.detach())
        if report and (step + 1) % 100 == 0:
            report(step + 1, total / 100, net)
            total = 0.0
    return net
