"""Evaluation of a policy on calls it has not been trained on: mean return over fixed worlds."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import VectorEnv

from vcgym.agents.config import EvaluateConfig
from vcgym.agents.environments import make_envs, observation_parts
from vcgym.agents.export import CARD, load_agent, read_card
from vcgym.agents.networks.observation import Part, count_items
from vcgym.agents.training.spaces import build, over_items


class Policy(Protocol):
    """Anything that acts, over a batch of sessions."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: np.ndarray | None = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]: ...


class Evaluation(NamedTuple):
    """Mean and standard deviation of the return over so many episodes."""

    return_mean: float
    return_sd: float
    episodes: int


def episode_returns(policy: Policy, envs: VectorEnv, seed: int) -> np.ndarray:
    """Play one episode per session and return the float64 (num_envs,) returns; worlds are drawn from `seed`."""
    observation, _ = envs.reset(seed=seed)
    returns = np.zeros(envs.num_envs)
    running = np.ones(envs.num_envs, dtype=bool)
    episode_start, state = running.copy(), None
    while running.any():
        actions, state = policy.predict(observation, state, episode_start, deterministic=True)
        observation, rewards, terminated, truncated, _ = envs.step(actions)
        returns[running] += rewards[running]
        episode_start = np.logical_or(terminated, truncated)
        running &= ~episode_start
    return returns


def evaluate(policy: Policy, envs: VectorEnv, seed: int) -> Evaluation:
    """Summarise `episode_returns`."""
    returns = episode_returns(policy, envs, seed)
    return Evaluation(float(returns.mean()), float(returns.std()), len(returns))


def require_fit(folder: Path | str, envs: VectorEnv) -> None:
    """Refuse to let the published agent in `folder` play `envs` when it was trained on other features or other actions.

    The number of paths, and the length of a queue, may differ: an agent acts on any.

    Raises:
        ValueError: it does not fit, naming the card, what it says and what is wanted.
    """
    card, path = read_card(Path(folder)), Path(folder) / CARD
    parts = observation_parts(envs)
    found, wanted = _without_counts(card.observation), _without_counts(parts)
    if found != wanted:
        raise ValueError(f"{path}: features of the observation are {found}, expected {wanted}")
    scores = card.network.items.scores if card.network.items else 0
    items = count_items(parts)
    action_space = over_items(build(card.action_space), scores * count_items(card.observation), scores * items)
    if action_space != envs.single_action_space:
        raise ValueError(f"{path}: action_space over {items} items is {action_space}, expected {envs.single_action_space}")


def _without_counts(parts: list[Part]) -> list[tuple[str, list[str]]]:
    """Return name and features of each part, of one item if it is a set."""
    return [(part.name, part.features) for part in parts]


def evaluate_agent(config: EvaluateConfig) -> Evaluation:
    """Load a published agent and evaluate it as `config` says.

    Raises:
        ValueError: it is of another environment, or see `require_fit`.
    """
    config.data.export()
    agent = load_agent(config.agent, env_id=config.env.id)
    envs = make_envs(config.env, config.episodes, config.split)
    try:
        require_fit(config.agent, envs)
        return evaluate(agent, envs, config.seed)
    finally:
        envs.close()
