"""The agents' network: the same small net looks at every path, so what is learned holds for any number of paths, in any order.

    e_p = act(encode [x_p, x_c])                        each path p with features x_p; x_c the features of the call
    z   = [x_c, mean_p e_p, max_p e_p, e_commanded]     without paths: x_c
    t   = act(trunk1 act(trunk0 z))
    path score p = score1 act(score0 [e_p, t]) + habit x_p
    other outputs, which is any output without paths: rest t

Levels are ordered, so they are not 32 outputs but a place and a width on the log scale of lags: the logit of a level at place x is
-((x - place) / width)^2 / 2.

Scores and other outputs are logits, or means of a continuous action. Features are of order one, with long tails; all but the habit sees
them compressed by arcsinh. Policies start near a sensible rule, since a random path or lag every 100 ms is all disturbance: the linear
`habit` begins as "stay unless another path is much faster or lost much less before the call", the place as "somewhat above the largest
excess of the last 2 s"; both are learned on. The value is linear in the t of a trunk of its own. Sets by pooling: Zaheer et al. 2017,
"Deep Sets", arXiv 1703.06114.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn

from vcgym.agents.networks.policy import PEAK, WIDTH, output_count, ranks_levels
from vcgym.envs.call.features.path import PATH_FEATURES, path_width
from vcgym.envs.faces.actions import LEVELS

MISSING = [feature.name for feature in PATH_FEATURES].index("history_missing")
COMMANDED = [feature.name for feature in PATH_FEATURES].index("commanded")
EXCESS = [feature.name for feature in PATH_FEATURES].index("excess_over_best")
STAY, AVOID_PER_100_MS = 6.0, 12.0  # logits at the start
AVOID_PER_PERCENT = 1.5 * AVOID_PER_100_MS  # 1 % concealed costs as much as 152 ms (E-model, slope at zero)
CONTINUOUS = 0.1  # continuous scores lie in -1..1, an order below logits; their first deviation is exp(LOG_SD)
LOG_SD = -1.5
PEAK_FACTOR = 1.4  # lag at the start, in largest excesses of the last 2 s
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}


class Trunk(nn.Module):
    """What is known of a call: t of the module docstring, and e of each path.

    Args:
        features: length of an observation.
        paths: how many paths it describes, as many features each, before those of the call; may be 0.
        hidden: units per layer.
        activation: a key of ACTIVATIONS.
    """

    def __init__(self, features: int, paths: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.paths, self.act = paths, ACTIVATIONS[activation]
        self.width = path_width(features, paths)
        call = features - paths * self.width
        if paths:
            self.encode = nn.Linear(self.width + call, hidden)
        self.trunk0 = nn.Linear(call + 3 * hidden * (paths > 0), hidden)
        self.trunk1 = nn.Linear(hidden, hidden)

    def trunk(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """What is known: t (batch, hidden), and e (batch, paths, hidden) where there are paths."""
        of_paths, pooled = self.split(torch.asinh(observation))
        encoded = None
        if self.paths:
            encoded = self.act(self.encode(torch.cat([of_paths, pooled[:, None].expand(-1, self.paths, -1)], dim=2)))
            commanded = self.split(observation)[0][:, :, COMMANDED : COMMANDED + 1]
            pooled = torch.cat([pooled, encoded.mean(dim=1), encoded.amax(dim=1), (encoded * commanded).sum(dim=1)], dim=1)
        return self.act(self.trunk1(self.act(self.trunk0(pooled)))), encoded

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of the paths (batch, paths, width), and of the call (batch, rest)."""
        border = self.paths * self.width
        return observation[:, :border].reshape(len(observation), self.paths, self.width), observation[:, border:]


class PathNet(Trunk):
    """The network of the module docstring.

    Args:
        features: length of an observation.
        paths: how many paths it describes; may be 0.
        rest: outputs other than path scores; may be 0.
        hidden: units per layer.
        activation: a key of ACTIVATIONS.
    """

    def __init__(self, features: int, paths: int, rest: int, hidden: int, activation: str) -> None:
        super().__init__(features, paths, hidden, activation)
        self.others = rest > 0
        self.levels = ranks_levels(features - paths * self.width, rest)
        if paths:
            self.score0 = nn.Linear(2 * hidden, hidden)
            self.score1 = nn.Linear(hidden, 1)
            self.habit = nn.Linear(self.width, 1, bias=False)
        if self.others:
            self.rest = nn.Linear(hidden, 2 if self.levels else rest)

    def start_sensibly(self, scale: float) -> None:
        """Outputs near zero, but for the habits, `scale` times as strong as for logits."""
        with torch.no_grad():
            if self.paths:
                nn.init.orthogonal_(self.score1.weight, 0.01)
                self.habit.weight.zero_()
                self.habit.weight[0, COMMANDED] = STAY
                self.habit.weight[0, EXCESS] = -AVOID_PER_100_MS
                self.habit.weight[0, MISSING] = -AVOID_PER_PERCENT
                self.habit.weight *= scale
            if self.others:
                nn.init.orthogonal_(self.rest.weight, 0.01)
                if self.levels:
                    self.rest.bias[0] = math.log10(PEAK_FACTOR)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Outputs (batch, paths + rest)."""
        trunk, encoded = self.trunk(observation)
        of_paths, call = self.split(observation)
        parts = []
        if encoded is not None:
            both = torch.cat([encoded, trunk[:, None].expand(-1, self.paths, -1)], dim=2)
            parts.append((self.score1(self.act(self.score0(both))) + self.habit(of_paths))[:, :, 0])
        if self.others:
            rest = self.rest(trunk)
            parts.append(_level_logits(call[:, PEAK], rest) if self.levels else rest)
        return torch.cat(parts, dim=1)


def _level_logits(peak_100_ms: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    usual = torch.log10(torch.clamp(10.0 * peak_100_ms, min=1.0)) - 1.0
    width = WIDTH * torch.exp(rest[:, 1])
    places = torch.linspace(-1.0, 1.0, LEVELS, device=rest.device)
    return -0.5 * ((places - (usual + rest[:, 0])[:, None]) / width[:, None]) ** 2


class Nets(nn.Module):
    """Policy and value network where SB3 expects its extractor: the policy's output is final, the value's still meets one linear layer.

    Args:
        policy: makes `outputs` numbers of an observation.
        value: its `trunk` makes `hidden` numbers of one.
        outputs: length of what the policy says.
        hidden: units of the trunk.
    """

    def __init__(self, policy: nn.Module, value: Any, outputs: int, hidden: int) -> None:
        super().__init__()
        self.policy, self.value = policy, value
        self.latent_dim_pi, self.latent_dim_vf = outputs, hidden

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.policy(features)
        return outputs

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.value.trunk(features)[0]


def path_nets(features: int, outputs: int, paths: int, hidden: int, activation: str) -> Nets:
    """Networks of an agent that chooses among paths."""
    return Nets(PathNet(features, paths, outputs - paths, hidden, activation), Trunk(features, paths, hidden, activation), outputs, hidden)


def _use(policy: ActorCriticPolicy | MaskableActorCriticPolicy, lr_schedule: Any) -> None:
    """Let the extractor's policy network say the actions, from a sensible start, and give the optimiser what there is to learn."""
    nets: Any = policy.mlp_extractor
    nets.policy.start_sensibly(CONTINUOUS if isinstance(policy.action_space, spaces.Box) else 1.0)
    policy.action_net = nn.Identity()
    settings = {"lr": lr_schedule(1), **policy.optimizer_kwargs}
    policy.optimizer = policy.optimizer_class(policy.parameters(), **settings)


class PathPolicy(ActorCriticPolicy):
    """SB3's actor-critic policy over networks of ours.

    Args:
        nets: makes them, given the lengths of observation and output.
    """

    def __init__(self, *arguments: Any, nets: Callable[..., nn.Module], **others: Any) -> None:
        self._nets = nets
        super().__init__(*arguments, **{"log_std_init": LOG_SD, **others})

    def _build_mlp_extractor(self) -> None:
        self.add_module("mlp_extractor", self._nets(self.features_dim, outputs=output_count(self.action_space)).to(self.device))

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        _use(self, lr_schedule)


class MaskablePathPolicy(MaskableActorCriticPolicy):
    """The same for MaskablePPO."""

    def __init__(self, *arguments: Any, nets: Callable[..., nn.Module], **others: Any) -> None:
        self._nets = nets
        super().__init__(*arguments, **others)

    def _build_mlp_extractor(self) -> None:
        self.add_module("mlp_extractor", self._nets(self.features_dim, outputs=output_count(self.action_space)).to(self.device))

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        _use(self, lr_schedule)
