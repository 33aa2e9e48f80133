"""The policy of an algorithm of the library as an agent that can be published: weights and a card in place of a pickled zip.

Actor-critics (PPO, A2C, TRPO), ARS and DQN with `MlpPolicy` are layers over all features in order, which is a set network without items
whose features enter as they are. The most probable action, or the one of the highest value, is the largest output.
"""

from itertools import pairwise

from gymnasium import spaces
from sb3_contrib.ars.policies import ARSPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from vcgym.agents.networks.description import Activation, Layer, SetNetwork
from vcgym.agents.networks.observation import ObservedPart
from vcgym.agents.networks.policy import AgentPolicy
from vcgym.agents.training.learners import Model

_ACTIVATIONS: dict[type[nn.Module], Activation] = {nn.Tanh: "tanh", nn.ReLU: "relu", nn.Linear: "linear"}


def flat_policy(model: Model, env_id: str, parts: list[ObservedPart]) -> AgentPolicy:
    """Return the current policy of a model as an agent that acts without torch.

    Args:
        model: model with `MlpPolicy`.
        env_id: environment of its training.
        parts: parts of its observation, none of them a set.

    Raises:
        ValueError: its policy has another form.
    """
    linear, activations = _layers(model)
    layers = [
        Layer(inputs=one.in_features, outputs=one.out_features, activation=activation)
        for one, activation in zip(linear, activations, strict=True)
    ]  # fmt: skip
    network = SetNetwork(items=None, context=layers[0].inputs, trunk=layers[:-1], rest=layers[-1:], raw=True)
    names = [name for name, _ in network.layers()]
    tensors = {
        f"{name}.{kind}": getattr(one, kind).detach().cpu().numpy().copy()
        for name, one in zip(names, linear, strict=True)
        for kind in ("weight", "bias")
    }  # fmt: skip
    observed = model.observation_space
    assert isinstance(observed, spaces.Box)
    return AgentPolicy(env_id, tuple(parts), observed, model.action_space, network, tensors, model.num_timesteps)


def _layers(model: Model) -> tuple[list[nn.Linear], list[Activation]]:
    """Return the layers from features to outputs, and the activation after each."""
    policy = model.policy
    modules: list[nn.Module] = []
    if isinstance(policy, ActorCriticPolicy) and type(policy.features_extractor) is FlattenExtractor:
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
    elif isinstance(policy, DQNPolicy) and type(policy.q_net.features_extractor) is FlattenExtractor:
        modules = [*policy.q_net.q_net]
    elif isinstance(policy, ARSPolicy) and type(policy.features_extractor) is FlattenExtractor:
        modules = [*policy.action_net]
    if not modules or any(type(module) not in _ACTIVATIONS for module in modules) or type(modules[-1]) is not nn.Linear:
        raise ValueError(f"policy is {type(policy).__name__}; allowed: MlpPolicy of PPO, A2C, TRPO, ARS or DQN, with tanh or ReLU")
    linear = [module for module in modules if isinstance(module, nn.Linear)]
    after = [_ACTIVATIONS[type(following)] for module, following in pairwise(modules) if isinstance(module, nn.Linear)]
    return linear, [*after, "linear"]
