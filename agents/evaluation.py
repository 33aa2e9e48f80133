"""How good a policy is on calls it has not been trained on: mean return over fixed worlds."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import VectorEnv

from vcgym.agents.config import EvaluateConfig
from vcgym.agents.environments import feature_names, make_envs, paths_observed, places_observed
from vcgym.agents.export import CARD, load_agent, read_card
from vcgym.agents.training.spaces import build, with_paths, with_places
from vcgym.envs.call.features.path import path_width
from vcgym.envs.call.features.sender import PLACE_WIDTH


class Policy(Protocol):
    """Anything that acts, over a batch of sessions."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: np.ndarray | None = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]: ...


class Evaluation(NamedTuple):
    """Mean and standard deviation of the return, over how many episodes."""

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

    Which paths there are, how many, and how long a queue is, is no part of it: an agent acts on any.

    Raises:
        ValueError: it does not fit, naming the card, what it says and what is wanted.
    """
    card, path = read_card(Path(folder)), Path(folder) / CARD
    here, there = (paths_observed(envs), places_observed(envs)), (card.paths, card.places)
    wanted, found = _apart(feature_names(envs), *here), _apart(card.features, *there)
    if found != wanted:
        raise ValueError(f"{path}: features of a path and of the call are {found}, expected {wanted}")
    width, seen = _call_width(envs.single_observation_space.shape, *here), _call_width(build(card.observation_space).shape, *there)
    if seen != width:
        raise ValueError(f"{path}: observation_space has {seen} entries besides those of {card.paths} paths, expected {width}")
    space, paths = build(card.action_space), here[0]
    action_space = with_places(space, here[1]) if card.places else with_paths(space, card.paths, paths)
    if action_space != envs.single_action_space:
        raise ValueError(f"{path}: action_space over {paths} paths is {action_space}, expected {envs.single_action_space}")


def _width(features: int, paths: int, places: int) -> int:
    return PLACE_WIDTH if places else path_width(features, paths)


def _apart(features: list[str], paths: int, places: int) -> tuple[list[str], list[str]]:
    """Names of the features of one path or place, without its number, and of the call."""
    width, many = _width(len(features), paths, places), paths + places
    of_many, of_call = features[: many * width], features[many * width :]
    return [name.partition("[")[0] for name in of_many[:width]], of_call


def _call_width(shape: tuple[int, ...] | None, paths: int, places: int) -> int | None:
    return shape[0] - (paths + places) * _width(shape[0], paths, places) if shape else None


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
