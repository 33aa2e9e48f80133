"""SAC's policy over a set network: the network gives the mean of the actor, its trunk the deviation; the critics are MLPs."""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.sac.policies import LOG_STD_MAX, LOG_STD_MIN, Actor, SACPolicy
from torch import nn

from vcgym.agents.networks.actor_critic import LOG_SD
from vcgym.agents.networks.set_net import SetNet


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
