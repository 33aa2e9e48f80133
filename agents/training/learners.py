"""Learning algorithms: the table of those there are, a model of Stable-Baselines3 from a config, and a publishable policy from a model.

PPO, MaskablePPO and SAC learn set networks; a `LibraryConfig` any algorithm of `TABLE` with its own networks. An algorithm fits an
environment if it takes a form of its actions; `fitting` finds the form. Which state a row has beside its networks and optimisers is read
off its class, see `vcgym.agents.training.checkpoint`.
"""

import inspect
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from sb3_contrib import ARS, QRDQN, TQC, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from torch import nn

from vcgym.agents.config.algorithms import Algorithm, InsidePPOConfig, LibraryConfig, MaskablePPOConfig, OfflineConfig, SACConfig
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
from vcgym.envs.call.stages import DONE

Model = BaseAlgorithm

_OURS = {"learning_rate", "schedule", "hidden", "activation", "masked"}  # the other fields of a config are arguments of the model
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
FORMS = ("relative_discrete", "relative_continuous")
"""The forms of actions for standard algorithms: one number to choose, and a box."""
_SET_BY_US = frozenset({"self", "policy", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"})


class ARSBetween(ARS):
    """ARS that can go on: a rollout begins before its directions are drawn, and progress counts what was learned before."""

    def _do_one_update(self, callback: Any, async_eval: Any) -> None:
        self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
        callback.on_rollout_start()
        super()._do_one_update(callback, async_eval)


class Row(NamedTuple):
    """An algorithm.

    Attributes:
        learner: class that learns.
        takes: kinds of spaces of actions.
        policy: name of its policy over features, in the library.
    """

    learner: type[BaseAlgorithm]
    takes: tuple[type[spaces.Space[Any]], ...]
    policy: str = "MlpPolicy"

    def arguments(self) -> list[str]:
        """Return the names of the arguments that a config may set."""
        return sorted(inspect.signature(self.learner).parameters.keys() - _SET_BY_US)


_CHOICES = (spaces.Discrete, spaces.MultiDiscrete)
TABLE = {
    "PPO": Row(PPO, (*_CHOICES, spaces.Box)),
    "A2C": Row(A2C, (*_CHOICES, spaces.Box)),
    "TRPO": Row(TRPO, (*_CHOICES, spaces.Box)),
    "RecurrentPPO": Row(RecurrentPPO, (*_CHOICES, spaces.Box), "MlpLstmPolicy"),
    "MaskablePPO": Row(MaskablePPO, _CHOICES),
    "DQN": Row(DQN, (spaces.Discrete,)),
    "QRDQN": Row(QRDQN, (spaces.Discrete,)),
    "SAC": Row(SAC, (spaces.Box,)),
    "TD3": Row(TD3, (spaces.Box,)),
    "TQC": Row(TQC, (spaces.Box,)),
    "ARS": Row(ARSBetween, (spaces.Discrete, spaces.Box)),
}


def row_name(algorithm: Algorithm) -> str:
    """Return the name of the row of an algorithm that learns in an environment."""
    if isinstance(algorithm, LibraryConfig):
        return algorithm.name
    return "SAC" if isinstance(algorithm, SACConfig) else "MaskablePPO" if isinstance(algorithm, MaskablePPOConfig) else "PPO"


def name_of(algorithm: Algorithm) -> str:
    """Return the name of the algorithm for a card; those of the library, as they come, begin with SB3."""
    if isinstance(algorithm, InsidePPOConfig):
        return "InsidePPO"
    if isinstance(algorithm, OfflineConfig):
        return algorithm.name
    return f"SB3-{algorithm.name}" if isinstance(algorithm, LibraryConfig) else row_name(algorithm)


def fitting(name: str, env: EnvConfig) -> str | None:
    """Return the form of the actions of an environment that an algorithm takes, its own or one of `FORMS`; None if none fits."""
    for form in dict.fromkeys((env.options.get("action"), *FORMS)):
        if form is not None and isinstance(_space(env, form), TABLE[name].takes):
            return str(form)
    return None


def require_taken(name: str, env: EnvConfig, space: spaces.Space[Any]) -> None:
    """Raise ValueError unless an algorithm takes a space of actions; the message says which form of the environment it takes."""
    if isinstance(space, TABLE[name].takes):
        return
    kinds, form = " or ".join(kind.__name__ for kind in TABLE[name].takes), fitting(name, env)
    other = f"env.options.action={form}" if form else f"{env.id} has none"
    raise ValueError(f"algorithm is {name} and action space is {space}; allowed: {kinds} ({other})")


def _space(env: EnvConfig, form: str) -> spaces.Space[Any] | None:
    try:
        envs = make_envs(env.model_copy(update={"options": env.options | {"action": form}}), 1, "train")
    except ValueError:
        return None  # the environment has no such form, or not with its other arguments
    envs.close()
    return envs.single_action_space


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
    assert not isinstance(chosen, InsidePPOConfig | OfflineConfig)
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
    assert isinstance(model.env, VecNormalize)
    assert isinstance(model.env.unwrapped, NativeVecEnv)
    learned: Any = model.policy
    nets = learned.actor.mu if isinstance(model, SAC) else learned.mlp_extractor.policy
    assert isinstance(nets, SetNet)
    tensors = {name: tensor.detach().cpu().numpy().copy() for name, tensor in nets.state_dict().items()}
    spoken = config.env.id, tuple(observation_parts(model.env.unwrapped.envs)), model.observation_space, model.action_space
    return AgentPolicy(*spoken, nets.network, tensors, squashed=isinstance(model, SAC))
