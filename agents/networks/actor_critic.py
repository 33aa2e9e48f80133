"""Stable-Baselines3's policies over set networks: actor-critic, and SAC's.

In SAC the network gives the mean of the actor, its trunk the deviation; the critics are MLPs.
"""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.sac.policies import LOG_STD_MAX, LOG_STD_MIN, Actor, SACPolicy
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


class Compressed(BaseFeaturesExtractor):
    """Feature extractor of the critics: applies arcsinh, as all our networks do."""

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space, int(observation_space.shape[0]))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.asinh(observations)


class SetActor(Actor):
    """Actor whose action before tanh is normal: the outputs of a set network, with a log deviation linear in its t.

    Args:
        net: network of the mean, initialised.
    """

    mu: Any
    log_std: Any

    def __init__(self, net: SetNet, **arguments: Any) -> None:
        super().__init__(net_arch=[], **arguments)
        self.mu = net
        self.log_std = nn.Linear(net.network.trunk[-1].outputs, self.action_space.shape[0])
        nn.init.orthogonal_(self.log_std.weight, 0.01)
        nn.init.constant_(self.log_std.bias, LOG_SD)

    def get_action_dist_params(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
        trunk, encoded = self.mu.gather(obs)
        return self.mu.outputs(obs, trunk, encoded), torch.clamp(self.log_std(trunk), LOG_STD_MIN, LOG_STD_MAX), {}


class SoftSetPolicy(SACPolicy):
    """SAC's policy over set networks.

    Args:
        net: factory of the actor's network.
    """

    def __init__(self, *arguments: Any, net: Callable[[], SetNet], **others: Any) -> None:
        self._net = net
        super().__init__(*arguments, **{"features_extractor_class": Compressed, **others})

    def make_actor(self, features_extractor: BaseFeaturesExtractor | None = None) -> SetActor:
        """Return an actor that reads the observation as it is; the network applies its own arcsinh."""
        reads = FlattenExtractor(self.observation_space)
        arguments = {name: value for name, value in self.actor_kwargs.items() if name != "net_arch"}
        return SetActor(self._net(), features_extractor=reads, features_dim=reads.features_dim, **arguments).to(self.device)
