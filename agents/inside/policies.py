"""Policies that learn inside the loop, one per control: a network in torch, its stochastic rule, and its rule when it is ranked."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.controllers import arrival_features, learned_aim, learned_margin, learned_switch
from vcgym.agents.controllers.learned_aim import HOLD, LearnedAim
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_margin import LearnedMargin
from vcgym.agents.controllers.learned_router import START
from vcgym.agents.controllers.learned_switch import EVERY_SLOTS, LearnedSwitch
from vcgym.agents.inside.sampled_aim import SampledAim
from vcgym.agents.inside.sampled_lag import SampledLag
from vcgym.agents.inside.sampled_margin import SampledMargin
from vcgym.agents.inside.sampled_switch import SampledSwitch
from vcgym.agents.networks.two_layers import TwoLayers
from vcgym.baselines.controls.control import Control

START_OUTPUT = 0.5  # initial bias of the lag: about 20 ms above the newest delay
START_AIM = 0.25  # initial bias of the aim: about 30 ms
START_MARGIN = -1.1  # initial weight without a feature: 1 half round trip, as in SBPN2
MARGIN_STEPS = 3.0  # steps of the few weights of a margin are larger than those of a network by this
START_CHANGES = -3.0  # initial bias of a change of path: one in 20 decisions, every 4 s
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


def normal_log_prob(off: torch.Tensor, sd: float | torch.Tensor) -> torch.Tensor:
    """Return the log density (...) of normal noise `off` (...) with this standard deviation."""
    off = off / sd
    return -0.5 * off * off - torch.log(torch.as_tensor(sd)) - HALF_LOG_TAU


class NoisyPolicy(TwoLayers):
    """Policy with normal noise on the output of its network, correlated from decision to decision.

    Args:
        width: number of features.
        start: initial bias of the output.
        discount: per 10 ms.
        settings: of the algorithm.
    """

    def __init__(self, width: int, start: float, discount: float, settings: InsidePPOConfig) -> None:
        super().__init__(width, settings.hidden, start)
        self.sd, self.memory, self.mirrored, self.discount = settings.noise_sd, settings.noise_memory, settings.mirrored, discount

    def log_prob(self, x: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log densities (decisions,) of outputs for features (decisions, width) of calls of these lengths."""
        return normal_log_prob(action - self.output(x), self.sd)


class LagPolicy(NoisyPolicy):
    """Lag at each arrival.

    Attributes:
        after: densities are those after the noise before. A lag that learns alone gains by it, and by features with units; beside a path
            that learns too it does not (lab/notes/agents.md).

    Args:
        settings: of the algorithm.
    """

    control: ClassVar[Control] = Control.PLAYOUT
    after = False

    def __init__(self, settings: InsidePPOConfig) -> None:
        super().__init__(arrival_features.WIDTH, START_OUTPUT, settings.gamma, settings)

    def log_prob(self, x: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log densities (arrivals,) of outputs for features (arrivals, width) of calls of these lengths."""
        if not self.after:
            return super().log_prob(x, action, lengths)
        noise, first = action - self.output(x), torch.zeros(len(action), dtype=torch.bool)
        first[np.cumsum([0, *(n for n in lengths if n > 0)])[:-1]] = True
        after = noise - self.memory * torch.nn.functional.pad(noise[:-1], (1, 0))
        sd = torch.where(first, self.sd, self.sd * math.sqrt(1.0 - self.memory**2))
        return normal_log_prob(torch.where(first, noise, after), sd)

    def rule(self) -> LearnedLag:
        """Return the rule with the weights of this network."""
        return LearnedLag(*self.arrays())

    def sampled(self, slots: int, draw: int, reward: Any) -> SampledLag:
        """Return the stochastic rule for calls of this length."""
        return SampledLag(self.rule(), self.sd, self.memory, self.after, self.mirrored, slots, draw, reward)


class AimPolicy(NoisyPolicy):
    """Queueing delay that a rate aims at, every few reports.

    Args:
        settings: of the algorithm.
    """

    control: ClassVar[Control] = Control.RATE

    def __init__(self, settings: InsidePPOConfig) -> None:
        super().__init__(learned_aim.WIDTH, START_AIM, settings.path_gamma, settings)

    def rule(self) -> LearnedAim:
        """Return the rule with the weights of this network."""
        return LearnedAim(*self.arrays())

    def sampled(self, slots: int, draw: int, reward: Any) -> SampledAim:
        """Return the stochastic rule for calls of this length, with at most a report in each slot."""
        return SampledAim(self.rule(), self.sd, self.memory, self.mirrored, -(-slots // HOLD), draw, reward)


class MarginPolicy(torch.nn.Module):
    """Time that a video packet must have left, at each of them: weights without a network, since a scheduler has no memory for layers.

    Args:
        settings: of the algorithm.
    """

    control: ClassVar[Control] = Control.ORDER

    def __init__(self, settings: InsidePPOConfig) -> None:
        super().__init__()
        self.first = torch.nn.Linear(learned_margin.WIDTH, 1, bias=False)
        with torch.no_grad():
            self.first.weight.mul_(0.1 / MARGIN_STEPS)[0, 0] = START_MARGIN / MARGIN_STEPS
        self.sd, self.memory, self.mirrored = settings.noise_sd, settings.noise_memory, settings.mirrored
        self.discount = settings.path_gamma

    def output(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum (...) of features (..., width)."""
        out: torch.Tensor = MARGIN_STEPS * self.first(x)
        return out[..., 0]

    def log_prob(self, x: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log densities (decisions,) of sums with noise for features (decisions, width) of calls of these lengths."""
        return normal_log_prob(action - self.output(x), self.sd)

    def rule(self) -> LearnedMargin:
        """Return the rule with these weights."""
        return LearnedMargin(MARGIN_STEPS * self.first.weight.detach().numpy()[0])

    def sampled(self, slots: int, draw: int, reward: Any) -> SampledMargin:
        """Return the stochastic rule for calls of this length, with room for a video packet in each slot."""
        return SampledMargin(self.rule(), self.sd, self.memory, self.mirrored, slots, draw, reward)


class SwitchPolicy(TwoLayers):
    """Change of path every 200 ms, or none.

    Args:
        settings: of the algorithm.
    """

    control: ClassVar[Control] = Control.PATH

    def __init__(self, settings: InsidePPOConfig) -> None:
        super().__init__(learned_switch.WIDTH, settings.hidden, START_CHANGES)
        self.discount = settings.path_gamma

    def rule(self) -> LearnedSwitch:
        """Return the rule with the weights of this network."""
        return LearnedSwitch(START, *self.arrays())

    def sampled(self, slots: int, draw: int, reward: Any) -> SampledSwitch:
        """Return the stochastic rule for calls of this length."""
        return SampledSwitch(self.rule(), -(-slots // EVERY_SLOTS), draw, reward)

    def log_prob(self, x: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log probabilities (decisions,) of changes (1) and stays (0) for features (decisions, WIDTH)."""
        return torch.nn.functional.logsigmoid((2.0 * action - 1.0) * self.output(x))


LoopPolicy = LagPolicy | SwitchPolicy | AimPolicy | MarginPolicy
POLICIES = {policy.control: policy for policy in (SwitchPolicy, LagPolicy, AimPolicy, MarginPolicy)}
"""Policy of each control that learns inside the loop."""
