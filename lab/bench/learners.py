"""Decisions per second of learning, rollout and update together: PPO inside the loop, and PPO outside on the same task.

The task is the lag of `vcgym/Playout-v1` with a decision at each arrival, on the worlds of the training split; inside the loop also the
path, and both. Outside: Stable-Baselines3 with its defaults, one call; with 64 calls and larger minibatches, with which it is fastest; and
a loop without a library (`lean_ppo`) over 64 calls.
"""

from collections.abc import Iterator
from typing import Any

import torch
from stable_baselines3 import PPO

from lab.bench.lean_ppo import LeanPPO
from lab.bench.measure import Effort, Measurement, median_ratio, rate
from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.inside.learner import Learning
from vcgym.agents.sb3 import make_vec_env

SESSIONS, STEPS = 32, 10**9  # calls of a rollout; decisions at which the step size would be 0
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("vcgym/Playout-v1", {"interval": 1}), "_path": ("vcgym/Relay-v1", {}), "_call": ("vcgym/Call-v1", {}),
}  # fmt: skip
"""End of a figure's name -> environment and its arguments."""
BATCHES: dict[str, dict[str, Any]] = {"sb3": {}, "sb3_64": {"n_envs": 64, "batch_size": 1024}}
"""Name of a way to use Stable-Baselines3 -> calls and arguments that are not its defaults."""


def inside(task: str, effort: Effort) -> Iterator[Measurement]:
    """Yield the decisions per second of the learner inside the loop, of all it learns, with one and two threads that play."""
    for threads in (1, 2):
        learning = _learning(effort, task, threads)
        for _ in learning.networks:  # controls learn in turns
            learning.train_step()

        def learn(learning: Learning = learning) -> None:
            for _ in learning.networks:
                learning.train_step()

        yield rate(f"learner_inside{task}", "decisions/s", _decisions(learning), learn, effort, threads)


def over_lean(effort: Effort) -> Iterator[Measurement]:
    """Yield how many times as many decisions per second the learner inside the loop makes as a loop without a library."""
    torch.set_num_threads(1)
    env, options = TASKS[""]
    steps = 4 * effort.part(32)
    model, learning = LeanPPO(env, 64, steps, **options), _learning(effort)
    learning.train_step()
    yield median_ratio("learner_inside_over_lean", (64 * steps, model.learn), (_decisions(learning), learning.train_step), effort)
    model.envs.close()


def over_library(name: str, effort: Effort) -> Iterator[Measurement]:
    """Yield how many times as many decisions per second the learner inside the loop makes as the library, in rounds by turns."""
    torch.set_num_threads(1)
    arguments = dict(BATCHES[name])
    env, options = TASKS[""]
    envs = make_vec_env(env, arguments.pop("n_envs", 1), seed=0, env_kwargs=options)
    steps = 64 * effort.part(32)
    model = PPO("MlpPolicy", envs, n_steps=steps, seed=0, **arguments)
    amount, learning = steps * envs.num_envs, _learning(effort)
    learning.train_step()

    def learn() -> None:
        model.learn(amount, reset_num_timesteps=False)

    yield median_ratio(f"learner_inside_over_{name}", (amount, learn), (_decisions(learning), learning.train_step), effort)
    envs.close()


def _learning(effort: Effort, task: str = "", threads: int = 1) -> Learning:
    torch.set_num_threads(1)
    settings = InsidePPOConfig(worlds=effort.part(InsidePPOConfig().worlds))
    sessions = settings.replicas * effort.part(SESSIONS // settings.replicas)
    env, options = TASKS[task]
    return Learning(EnvConfig(id=env, options=options), settings, sessions, STEPS, seed=0, threads=threads)


def _decisions(learning: Learning) -> float:
    """Return the decisions of a turn of each control, on average so far."""
    return learning.decisions / learning.rollouts * len(learning.networks)
