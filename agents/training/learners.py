"""Learning algorithms: build a model of Stable-Baselines3 from a config, and a publishable policy from a model.

PPO, MaskablePPO and SAC learn set networks; a `LibraryConfig` any algorithm of `vcgym.agents.training.table` with its own networks.
"""

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from torch import nn

from vcgym.agents.config.algorithms import Algorithm, InsidePPOConfig, LibraryConfig, MaskablePPOConfig, SACConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.agents.networks.actor_critic import CONTINUOUS, LOG_SD, ActorCritic, MaskableSetPolicy, SetPolicy, SoftSetPolicy
from vcgym.agents.networks.description import SetNetwork
from vcgym.agents.networks.observation import ObservedPart, count_items, item_part, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.networks.set_net import SetNet
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.agents.training.table import TABLE, require_taken, row_name
from vcgym.envs.call.stages import DONE

Model = BaseAlgorithm

_OURS = {"learning_rate", "schedule", "hidden", "activation", "masked"}  # the other fields of a config are arguments of the model
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


def require_learnable(algorithm: Algorithm, env: EnvConfig, envs: VectorEnv) -> None:
    """Raise ValueError if the algorithm cannot learn the actions of the environment, there is nothing to learn, or it has no such argument.

    Raises:
        ValueError: the message names the action space and the allowed ones, or the argument and those that there are.
    """
    output_count(envs.single_action_space)
    _require_decisions(env, envs)
    if isinstance(algorithm, MaskablePPOConfig) and not hasattr(envs.unwrapped, "action_masks"):
        raise ValueError(f"algorithm is MaskablePPO and {envs.unwrapped} has no action_masks; allowed: algorithm=ppo")
    require_taken(row_name(algorithm), env, envs.single_action_space)
    if isinstance(algorithm, LibraryConfig):
        allowed = TABLE[algorithm.name].arguments()
        if unknown := sorted(algorithm.arguments.keys() - set(allowed)):
            raise ValueError(f"algorithm.arguments has {', '.join(unknown)}; {algorithm.name} has {', '.join(allowed)}")


def _require_decisions(env: EnvConfig, envs: VectorEnv) -> None:
    space = envs.single_action_space
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete) and np.max(getattr(space, "nvec", getattr(space, "n", 1))) < 2:
        raise ValueError(f"action space of {env.id} is {space}; allowed: two actions or more, such as two paths to choose from")
    envs.reset(seed=0)
    batch = getattr(envs.unwrapped, "batch", None)
    if batch is not None and (batch.why == DONE).all():
        raise ValueError(f"a call of {env.id} ends before its first decision; allowed: longer calls, such as env.options.packets=6000")


def build_model(config: TrainConfig, seed: int) -> Model:
    """Build a model with fresh weights over monitored sessions of the training split; our networks learn from normalised rewards."""
    envs, chosen = make_envs(config.env, config.num_envs, "train"), config.algorithm
    assert not isinstance(chosen, InsidePPOConfig)
    if isinstance(chosen, LibraryConfig):
        row, as_they_are = TABLE[chosen.name], VecNormalize(VecMonitor(NativeVecEnv(envs)), norm_obs=False, norm_reward=False)
        arguments = deepcopy(chosen.arguments)  # A2C adds its optimiser to policy_kwargs
        return row.learner(row.policy, as_they_are, seed=seed, device=config.device, **arguments)
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


def snapshot(model: Model, config: TrainConfig) -> AgentPolicy | OwnPolicy:
    """Return a copy of the model's current policy; one of the library acts itself."""
    if isinstance(config.algorithm, LibraryConfig):
        return OwnPolicy(model)
    assert isinstance(model.observation_space, spaces.Box)
    learned: Any = model.policy
    nets = learned.actor.mu if isinstance(model, SAC) else learned.mlp_extractor.policy
    assert isinstance(nets, SetNet)
    spoken = config.env.id, tuple(_parts(model)), model.observation_space, model.action_space
    return AgentPolicy(*spoken, nets.network, _arrays(nets.state_dict()), squashed=isinstance(model, SAC))


def _parts(model: Model) -> list[ObservedPart]:
    assert isinstance(model.env, VecNormalize)
    assert isinstance(model.env.unwrapped, NativeVecEnv)
    return observation_parts(model.env.unwrapped.envs)


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, NDArray[np.float32]]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
