"""How good a policy is on calls it has not been trained on: mean return over fixed worlds."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import VectorEnv

from vcgym.agents.config import EvaluateConfig
from vcgym.agents.environments import make_envs
from vcgym.agents.export import load_agent


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


def evaluate_agent(config: EvaluateConfig) -> Evaluation:
    """Load a published agent and evaluate it as `config` says."""
    config.data.export()
    agent = load_agent(config.agent, env_id=config.env.id)
    envs = make_envs(config.env, config.episodes, config.split)
    try:
        return evaluate(agent, envs, config.seed)
    finally:
        envs.close()
