"""Evaluation of a policy on calls not used in training: mean return over fixed worlds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import VectorEnv
from pydantic import ValidationError

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import STUDY, EvaluateConfig, TrainConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.play import Policy, play
from vcgym.agents.networks.observation import ObservedPart, count_items
from vcgym.agents.published.export import load_agent, read_card
from vcgym.agents.published.new_folder import CARD
from vcgym.agents.published.spaces import build, over_items
from vcgym.envs import without_difficulty
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults


class Evaluation(NamedTuple):
    """Mean and standard deviation of the return over `episodes` episodes."""

    return_mean: float
    return_sd: float
    episodes: int


def episode_returns(policy: Policy, envs: VectorEnv, seed: int, on_progress: Callable[[int, str], None] | None = None) -> np.ndarray:
    """Play one episode per session and return the float64 (num_envs,) returns; worlds are sampled from `seed`."""
    observation, _ = envs.reset(seed=seed)
    return play(policy, envs, observation, on_progress=on_progress).returns


def evaluate(policy: Policy, envs: VectorEnv, seed: int, on_progress: Callable[[int, str], None] | None = None) -> Evaluation:
    """Return mean and standard deviation of `episode_returns`."""
    returns = episode_returns(policy, envs, seed, on_progress)
    return Evaluation(float(returns.mean()), float(returns.std()), len(returns))


def require_fit(folder: Path | str, envs: VectorEnv) -> None:
    """Raise ValueError unless the published agent in `folder` was trained on the features and actions of `envs`.

    The number of paths and the queue length may differ: an agent acts on any.

    Raises:
        ValueError: it does not fit; the message names the card, its value and the expected one.
    """
    card, path = read_card(Path(folder)), Path(folder) / CARD
    parts = observation_parts(envs, flat=card.network.items is None)
    found, wanted = _without_counts(card.observation), _without_counts(parts)
    if found != wanted:
        raise ValueError(f"{path}: features of the observation are {found}, expected {wanted}")
    scores = card.network.items.scores if card.network.items else 0
    items = count_items(parts)
    action_space = over_items(build(card.action_space), scores * count_items(card.observation), scores * items)
    if action_space != envs.single_action_space:
        raise ValueError(f"{path}: action_space over {items} items is {action_space}, expected {envs.single_action_space}")


def _without_counts(parts: list[ObservedPart]) -> list[tuple[str, list[str]]]:
    """Return name and features of each part; for a set, the features of one item."""
    return [(part.name, part.features) for part in parts]


def env_of(config: EvaluateConfig) -> EnvConfig:
    """Return the environment of an evaluation: what was typed, else that of the agent's training.

    An agent that does not lie in its study, as STUDY/seed-0/agent, or whose id is typed, plays with the defaults of its environment.

    Raises:
        ValueError: a file is malformed, or the study has another environment.
    """
    if isinstance(config.env, EnvConfig):
        return config.env
    card, study = read_card(config.agent), config.agent.parents[1] / STUDY
    env_id, options = (None, config.env.options) if config.env.id is None else without_difficulty(config.env.id, config.env.options)
    if env_id not in (None, card.env_id):
        raise ValueError(f"env.id is {config.env.id!r}; allowed: {card.env_id}, that of {config.agent / CARD}")
    trained: dict[str, Any] = {}
    if env_id is None and config.agent.parent.name.startswith("seed-") and study.is_file():
        try:
            found = TrainConfig.model_validate_json(read_plain(study, MAX_JSON_BYTES))
        except ValidationError as error:
            raise DataError(study, "content", faults(error), "the config of a study; or type env.id=ID") from error
        if found.env.id != card.env_id:
            raise DataError(study, "env.id", found.env.id, f"{card.env_id}, that of the agent; or type env.id=ID")
        trained = found.env.options
    return EnvConfig(id=card.env_id, options=trained | options)


def evaluate_agent(config: EvaluateConfig, on_progress: Callable[[int, str], None] | None = None) -> Evaluation:
    """Load and evaluate a published agent.

    Raises:
        ValueError: the agent was trained for another environment; see also `require_fit`.
    """
    config.data.export()
    env = env_of(config)
    agent = load_agent(config.agent, env_id=env.id)
    envs = make_envs(env, config.episodes, config.split)
    try:
        require_fit(config.agent, envs)
        return evaluate(agent, envs, config.seed, on_progress)
    finally:
        envs.close()
