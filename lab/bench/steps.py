"""Steps per second of environments, one decision of one call or conference each; resets and worlds sampled on demand are included.

So a round includes everything that training waits for. Actions are sampled once and reused: their generation is not measured.
"""

from collections.abc import Iterator
from typing import Any

import gymnasium

import vcgym.conference.env
import vcgym.envs  # noqa: F401  (both register ids)
from lab.bench.measure import Effort, Measurement, rate

PACKETS = 6000
MAX_WHOLE = 1024  # maximum number of calls that a round plays to the end; of more it plays a sixth
DECISIONS = 200  # of a minute of conference


def calls(num_envs: int, interval: int, effort: Effort) -> Iterator[Measurement]:
    """Yield the steps per second of parallel calls over 17 paths with discrete actions and one decision every `interval` packets."""
    steps = effort.part(PACKETS // interval // (1 if num_envs <= MAX_WHOLE else 6)) + 1
    options = {"action": "discrete", "reward": "emodel", "interval": interval}
    for threads in (1, 2) if num_envs > 1 else (1,):
        yield _steps(f"env_{interval}pkt_{num_envs}", "vcgym/Call-v1", num_envs, steps, threads, effort, **options)


def conferences(num_envs: int, effort: Effort) -> Iterator[Measurement]:
    """Yield the steps per second of dumbbells of a minute."""
    yield _steps(f"conference_env_{num_envs}", "vcgym/Conference-v0", num_envs, effort.part(DECISIONS), 1, effort)


def _steps(name: str, env_id: str, num_envs: int, steps: int, threads: int, effort: Effort, **options: Any) -> Measurement:
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, threads=threads, **options)
    envs.action_space.seed(0)
    action = envs.action_space.sample()
    envs.reset(seed=0)

    def run() -> None:
        for _ in range(steps):
            envs.step(action)

    found = rate(name, "steps/s", steps * num_envs, run, effort, threads)
    envs.close()
    return found
