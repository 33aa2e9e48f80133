"""Stable-Baselines3's actor-critic policies over set networks."""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from torch import nn

from vcgym.agents.networks.description import SetNetwork
from vcgym.agents.networks.observation import ObservedPart, count_items, item_part
from vcgym.agents.networks.set_net import SetNet, SetTrunk

CONTINUOUS = 0.1  # continuous scores are in -1..1, ten times smaller than logits; their initial deviation is exp(LOG_SD)
LOG_SD = -1.5


class ActorCritic(nn.Module):
    """Policy and value network in the role of SB3's extractor: the policy's output is final, the value's passes one more linear layer.

    Args:
        network: description of the policy network; the value network has the same trunk.
        parts: parts of the observation.
    """

    def __init__(self, network: SetNetwork, parts: list[ObservedPart]) -> None:
        super().__init__()
        self.of_items = item_part(parts)
        items = count_items(parts)
        self.policy, self.value = SetNet(network, items), SetTrunk(network, items)
        self.latent_dim_pi, self.latent_dim_vf = network.output_count(items), network.trunk[-1].outputs

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.policy(features)
        return outputs

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.value.gather(features)[0]


class _OverSetNetwork(BasePolicy):
    """Common base of the two policies below.

    Args:
        nets: factory of their networks.
    """

    mlp_extractor: Any
    action_net: Any

    def __init__(self, *arguments: Any, nets: Callable[[], ActorCritic], **others: Any) -> None:
        self._nets = nets
        super().__init__(*arguments, **others)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = self._nets().to(self.device)

    def _build(self, lr_schedule: Any) -> None:
        """Make the policy network output the actions, initialise it to the heuristic, and pass all parameters to the optimiser."""
        above: Any = super()
        above._build(lr_schedule)
        self.mlp_extractor.policy.init_to_heuristic(
            self.mlp_extractor.of_items, CONTINUOUS if isinstance(self.action_space, spaces.Box) else 1.0
        )
        self.action_net = nn.Identity()
        settings = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **settings)


class SetPolicy(_OverSetNetwork, ActorCriticPolicy):
    """PPO's policy over set networks."""


class MaskableSetPolicy(_OverSetNetwork, MaskableActorCriticPolicy):
    """MaskablePPO's policy over set networks."""
