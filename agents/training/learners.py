"""Learning algorithms: build a Stable-Baselines3 model over our networks from a config, and a publishable policy from a model.

PPO supports any environment, MaskablePPO one with `action_masks`, SAC a Box of actions. All policies are set networks.
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
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from torch import nn

from vcgym.agents.config.algorithms import Algorithm, InsidePPOConfig, MaskablePPOConfig, SACConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.networks.actor_critic import CONTINUOUS, LOG_SD, ActorCritic, MaskableSetPolicy, SetPolicy
from vcgym.agents.networks.description import SetNetwork
from vcgym.agents.networks.observation import ObservedPart, count_items, item_part, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.networks.set_net import SetNet
from vcgym.agents.networks.soft_actor_critic import SoftSetPolicy
from vcgym.agents.sb3 import NativeVecEnv

Model = PPO | MaskablePPO | SAC

_OURS = {"learning_rate", "schedule", "hidden", "activation", "masked"}  # the other fields of a config are arguments of the model
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


def name_of(algorithm: Algorithm) -> str:
    """Return the name of the algorithm for a card."""
    if isinstance(algorithm, InsidePPOConfig):
        return "InsidePPO"
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
    if isinstance(algorithm, SACConfig) and not isinstance(space, spaces.Box):
        raise ValueError(f"algorithm is SAC and action space is {space}; allowed: a Box of floats (env.options.action=continuous)")


def build_model(config: TrainConfig, seed: int) -> Model:
    """Build a model with fresh weights over monitored sessions of the training split with normalised rewards."""
    envs, chosen = make_envs(config.env, config.num_envs, "train"), config.algorithm
    assert not isinstance(chosen, InsidePPOConfig)
    sessions = VecNormalize(VecMonitor(NativeVecEnv(envs)), norm_obs=False, gamma=chosen.gamma)
    rate = LinearSchedule(chosen.learning_rate, 0.0, 1.0) if chosen.schedule == "linear" else chosen.learning_rate
    common: dict[str, Any] = {"learning_rate": rate, "seed": seed, "device": config.device, **chosen.model_dump(exclude=_OURS)}
    parts = observation_parts(envs)
    network = network_for(parts, output_count(envs.single_action_space), chosen.hidden, chosen.activation)
    if isinstance(chosen, SACConfig):
        common["train_freq"] = common.pop("n_steps")
        critics = {"net_arch": [chosen.hidden] * 2, "activation_fn": _ACTIVATIONS[chosen.activation]}
        return SAC(SoftSetPolicy, sessions, policy_kwargs={"net": partial(_initial_net, network, parts), **critics}, **common)
    kwargs: dict[str, Any] = {"nets": partial(ActorCritic, network, parts)}
    if isinstance(chosen, MaskablePPOConfig):
        return MaskablePPO(MaskableSetPolicy, sessions, policy_kwargs=kwargs, **common)
    return PPO(SetPolicy, sessions, policy_kwargs=kwargs | {"log_std_init": LOG_SD}, **common)


def _initial_net(network: SetNetwork, parts: list[ObservedPart]) -> SetNet:
    net = SetNet(network, count_items(parts))
    net.init_to_heuristic(item_part(parts), CONTINUOUS)
    return net


def snapshot(model: Model, config: TrainConfig) -> AgentPolicy:
    """Return a copy of the model's current policy."""
    assert isinstance(model.observation_space, spaces.Box)
    nets = model.actor.mu if isinstance(model, SAC) else model.policy.mlp_extractor.policy
    assert isinstance(nets, SetNet)
    spoken = config.env.id, tuple(_parts(model)), model.observation_space, model.action_space
    return AgentPolicy(*spoken, nets.network, _arrays(nets.state_dict()), squashed=isinstance(model, SAC))


def _parts(model: Model) -> list[ObservedPart]:
    assert isinstance(model.env, VecNormalize)
    assert isinstance(model.env.unwrapped, NativeVecEnv)
    return observation_parts(model.env.unwrapped.envs)


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, NDArray[np.float32]]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
