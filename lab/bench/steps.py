"""Steps per second of `vcgym/Call-v1` with discrete actions: 17 paths, features, calls of 6,000 packets, automatic restart.

A step is one decision of one call. A round is a whole call and the start of the next one, with worlds sampled on demand, so it includes
everything that training waits for; with more than 1,024 calls it is a sixth of a call. Actions are sampled once and reused, so that the
generation of actions is not measured.
"""

from collections.abc import Iterator

import gymnasium

import vcgym.envs  # noqa: F401  (registers the ids)
from lab.bench.measure import Effort, Measurement, rate

PACKETS = 6000
MAX_WHOLE = 1024  # maximum number of calls that a round plays to the end


def env_steps(num_envs: int, interval: int, effort: Effort) -> Iterator[Measurement]:
    """Yield the steps per second of `num_envs` parallel calls with one decision every `interval` packets."""
    for threads in (1, 2) if num_envs > 1 else (1,):
        envs = gymnasium.make_vec(
            "vcgym/Call-v1", num_envs=num_envs, threads=threads, action="discrete", reward="emodel", interval=interval
        )
        envs.action_space.seed(0)
        action = envs.action_space.sample()
        envs.reset(seed=0)
        steps = effort.part(PACKETS // interval // (1 if num_envs <= MAX_WHOLE else 6)) + 1

        def run(envs: gymnasium.vector.VectorEnv = envs, action: object = action, steps: int = steps) -> None:
            for _ in range(steps):
                envs.step(action)

        yield rate(f"env_{interval}pkt_{num_envs}", "steps/s", steps * num_envs, run, effort, threads)
        envs.close()
