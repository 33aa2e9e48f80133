"""Steps per second of `vcgym/Call-v0` as it comes: 17 paths, features, calls of 6,000 packets begun anew when they end.

A step is one decision of one call. A round is a whole call and the beginning of the next one, worlds drawn as they are needed, so that
nothing an agent in training waits for is left out; with more than 1,024 calls it is a sixth of a call. Actions are drawn once and stay:
what is measured is the environment, not a generator of actions.
"""

from collections.abc import Iterator

import gymnasium

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.leaderboard.bench.measure import Effort, Record, rate

PACKETS = 6000
MAX_WHOLE = 1024  # calls that are played to their end in every round


def env_steps(num_envs: int, interval: int, effort: Effort) -> Iterator[Record]:
    """`num_envs` calls side by side, one decision every `interval` packets."""
    for threads in (1, 2) if num_envs > 1 else (1,):
        envs = gymnasium.make_vec("vcgym/Call-v0", num_envs=num_envs, interval=interval, threads=threads)
        envs.action_space.seed(0)
        action = envs.action_space.sample()
        envs.reset(seed=0)
        steps = effort.part(PACKETS // interval // (1 if num_envs <= MAX_WHOLE else 6)) + 1

        def run(envs: gymnasium.vector.VectorEnv = envs, action: object = action, steps: int = steps) -> None:
            for _ in range(steps):
                envs.step(action)

        yield rate(f"env_{interval}pkt_{num_envs}", "steps/s", steps * num_envs, run, effort, threads)
        envs.close()
