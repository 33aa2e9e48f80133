"""Decisions per second of learning, rollout and update together: PPO inside the loop, and PPO of Stable-Baselines3 on the same task.

Both learn the lag of `vcgym/Playout-v1` with a decision at each arrival, on the worlds of the training split. Stable-Baselines3 has its
defaults, one call; or 64 calls and larger minibatches, with which it is fastest.
"""

from collections.abc import Iterator
from typing import Any

import torch
from stable_baselines3 import PPO

from lab.bench.measure import Effort, Measurement, median_ratio, rate
from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.inside.learner import Learning, task_of
from vcgym.agents.sb3 import make_vec_env

SESSIONS, STEPS = 32, 10**9  # calls of a rollout; decisions at which the step size would be 0
ENV, OPTIONS = "vcgym/Playout-v1", {"interval": 1}
BATCHES: dict[str, dict[str, Any]] = {"sb3": {}, "sb3_64": {"n_envs": 64, "batch_size": 1024}}
"""Name of a way to use Stable-Baselines3 -> calls and arguments that are not its defaults."""


def inside(effort: Effort) -> Iterator[Measurement]:
    """Yield the decisions per second of the learner inside the loop, one thread."""
    learning = _learning(effort)
    learning.turn()
    yield rate("learner_inside", "decisions/s", _decisions(learning), learning.turn, effort)


def over_library(name: str, effort: Effort) -> Iterator[Measurement]:
    """Yield how many times as many decisions per second the learner inside the loop makes as the library, in rounds by turns."""
    torch.set_num_threads(1)
    arguments = dict(BATCHES[name])
    envs = make_vec_env(ENV, arguments.pop("n_envs", 1), seed=0, env_kwargs=OPTIONS)
    steps = 64 * effort.part(32)
    model = PPO("MlpPolicy", envs, n_steps=steps, seed=0, **arguments)
    amount, learning = steps * envs.num_envs, _learning(effort)
    learning.turn()

    def learn() -> None:
        model.learn(amount, reset_num_timesteps=False)

    yield median_ratio(f"learner_inside_over_{name}", (amount, learn), (_decisions(learning), learning.turn), effort)
    envs.close()


def _learning(effort: Effort) -> Learning:
    torch.set_num_threads(1)
    settings = InsidePPOConfig(worlds=effort.part(InsidePPOConfig().worlds))
    sessions = settings.replicas * effort.part(SESSIONS // settings.replicas)
    return Learning(task_of(EnvConfig(id=ENV, options=OPTIONS)), settings, sessions, STEPS, seed=0)


def _decisions(learning: Learning) -> float:
    """Return the decisions of a rollout, on average so far."""
    return learning.decisions / learning.rollouts
