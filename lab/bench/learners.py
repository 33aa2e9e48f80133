"""Decisions per second of PPO inside the loop, rollout and update together, on the worlds of the training split."""

from collections.abc import Iterator
from typing import Any

import torch

from lab.bench.measure import Effort, Measurement, rate
from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.inside.learner import Learning
from vcgym.agents.inside.tasks import Training

SESSIONS, STEPS = 32, 10**9  # calls of a rollout; decisions at which the step size would be 0
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("vcgym/Playout-v1", {"interval": 1}), "_path": ("vcgym/Relay-v1", {}), "_call": ("vcgym/Call-v1", {}),
}  # fmt: skip
"""End of a figure's name -> environment and its arguments."""


def inside(task: str, effort: Effort) -> Iterator[Measurement]:
    """Yield the decisions per second of the learner inside the loop, of all it learns, with one and two threads that play."""
    torch.set_num_threads(1)
    settings = InsidePPOConfig()
    sessions = settings.replicas * effort.part(SESSIONS // settings.replicas)
    env_id, options = TASKS[task]
    few = {"worlds": effort.part(Training().worlds)}
    for threads in (1, 2):
        learning = Learning(EnvConfig(id=env_id, options=options | few), settings, sessions, STEPS, seed=0, threads=threads)

        def learn(learning: Learning = learning) -> None:
            for _ in learning.networks:  # controls learn in turns
                learning.train_step()

        learn()
        decisions = learning.decisions / learning.rollouts * len(learning.networks)
        yield rate(f"learner_inside{task}", "decisions/s", decisions, learn, effort, threads)
