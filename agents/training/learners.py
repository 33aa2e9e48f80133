"""Learning algorithms: build a Stable-Baselines3 model over our networks from a config, and a publishable policy from a model.

PPO supports any environment, MaskablePPO one with `action_masks`. SAC supports a Box of actions without paths; its network is an MLP with
two layers on the arcsinh of the features.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from torch import nn

from vcgym.agents.config.algorithms import Algorithm, MaskablePPOConfig, SACConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.networks.actor_critic import LOG_SD, ActorCritic, MaskableSetPolicy, SetPolicy
from vcgym.agents.networks.description import set_network
from vcgym.agents.networks.observation import ObservedPart, item_part, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.sb3 import NativeVecEnv

Model = PPO | MaskablePPO | SAC

_OURS = {"learning_rate", "schedule", "hidden", "activation", "masked"}  # the other fields of a config are arguments of the model
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
_SAC_TENSORS = {"trunk.0": "latent_pi.0", "trunk.1": "latent_pi.2", "rest.0": "mu"}  # our names -> names in SB3's actor


def name_of(algorithm: Algorithm) -> str:
    """Return the name of the algorithm for a card."""
    return "SAC" if isinstance(algorithm, SACConfig) else "MaskablePPO" if isinstance(algorithm, MaskablePPOConfig) else "PPO"


def require_learnable(algorithm: Algorithm, envs: VectorEnv) -> None:
    """Raise ValueError if the algorithm cannot learn the actions of the environment.

    Raises:
        ValueError: the message names the action space and the allowed ones.
    """
    space = envs.single_action_space
    output_count(space)
    if isinstance(algorithm, MaskablePPOConfig) and not hasattr(envs.unwrapped, "action_masks"):
        raise ValueError(f"algorithm is MaskablePPO and {envs.unwrapped} has no action_masks; allowed: algorithm=ppo")
    if isinstance(algorithm, SACConfig) and (not isinstance(space, spaces.Box) or item_part(observation_parts(envs))):
        raise ValueError(f"algorithm is SAC and action space is {space}; allowed: a Box of floats, in an environment without paths")


def build_model(config: TrainConfig, seed: int) -> Model:
    """Build a model with fresh weights over monitored sessions of the training split with normalised rewards."""
    envs, chosen = make_envs(config.env, config.num_envs, "train"), config.algorithm
    sessions = VecNormalize(VecMonitor(NativeVecEnv(envs)), norm_obs=False, gamma=chosen.gamma)
    rate = LinearSchedule(chosen.learning_rate, 0.0, 1.0) if chosen.schedule == "linear" else chosen.learning_rate
    common: dict[str, Any] = {"learning_rate": rate, "seed": seed, "device": config.device, **chosen.model_dump(exclude=_OURS)}
    if isinstance(chosen, SACConfig):
        common["train_freq"] = common.pop("n_steps")
        layers = {"net_arch": [chosen.hidden] * 2, "activation_fn": _ACTIVATIONS[chosen.activation]}
        return SAC("MlpPolicy", sessions, policy_kwargs={"features_extractor_class": Compressed, **layers}, **common)
    parts = observation_parts(envs)
    network = network_for(parts, output_count(envs.single_action_space), chosen.hidden, chosen.activation)
    kwargs: dict[str, Any] = {"nets": partial(ActorCritic, network, parts)}
    if isinstance(chosen, MaskablePPOConfig):
        return MaskablePPO(MaskableSetPolicy, sessions, policy_kwargs=kwargs, **common)
    return PPO(SetPolicy, sessions, policy_kwargs=kwargs | {"log_std_init": LOG_SD}, **common)


class Compressed(BaseFeaturesExtractor):
    """Feature extractor that applies arcsinh, as in all our networks."""

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space, int(observation_space.shape[0]))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.asinh(observations)


def snapshot(model: Model, config: TrainConfig) -> AgentPolicy:
    """Return a copy of the model's current policy."""
    assert isinstance(model.observation_space, spaces.Box)
    parts, outputs = _parts(model), output_count(model.action_space)
    spoken = config.env.id, tuple(parts), model.observation_space, model.action_space
    if isinstance(model, SAC):
        network = set_network(None, sum(part.size for part in parts), outputs, config.algorithm.hidden, config.algorithm.activation)
        return AgentPolicy(*spoken, network, _actor(model), squashed=True)
    nets = model.policy.mlp_extractor
    assert isinstance(nets, ActorCritic)
    return AgentPolicy(*spoken, nets.policy.network, _arrays(nets.policy.state_dict()))


def _parts(model: Model) -> list[ObservedPart]:
    assert isinstance(model.env, VecNormalize)
    assert isinstance(model.env.unwrapped, NativeVecEnv)
    return observation_parts(model.env.unwrapped.envs)


def _actor(model: SAC) -> dict[str, NDArray[np.float32]]:
    found = _arrays(model.actor.state_dict())
    return {f"{ours}.{part}": found[f"{theirs}.{part}"] for ours, theirs in _SAC_TENSORS.items() for part in ("weight", "bias")}


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, NDArray[np.float32]]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
