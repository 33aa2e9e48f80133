"""What a piece of work suffers from within its own process, as the environment variable CAMPAIGN says."""

import os
import random
import time

import numpy as np
from gymnasium.vector import VectorWrapper

VARIABLE = "CAMPAIGN"
STEP = 200  # at which a value is spoiled


class Poisoned(VectorWrapper):
    """Environment whose observation or reward is no number at one step."""

    def __init__(self, envs, what):
        super().__init__(envs)
        self.what, self.left = what, STEP

    def step(self, actions):
        """Spoil one value at one step."""
        observations, rewards, *rest = super().step(actions)
        self.left -= 1
        if not self.left:
            observations, rewards = np.array(observations), np.array(rewards, np.float64)
            if self.what == "observation":
                observations[3, 2] = np.nan
            else:
                rewards[3] = np.nan
        return observations, rewards, *rest


def spoil():
    """Put the spoiler in place that CAMPAIGN names: nan-observation, nan-reward or clock."""
    kind, _, what = os.environ.get(VARIABLE, "").partition("-")
    if kind == "nan":
        from vcgym.agents.training import learners

        make_envs = learners.make_envs
        learners.make_envs = lambda *arguments: Poisoned(make_envs(*arguments), what)
    elif kind == "clock":
        _jump()


def _jump():
    """Let the clock of the day jump by up to a day, forwards and back, at one of a hundred readings."""
    rng, now, now_ns, off_s = random.Random(1), time.time, time.time_ns, [0]

    def read(clock, units):
        def reading():
            if rng.random() < 0.01:
                off_s[0] = rng.randrange(-86_400, 86_400)
            return clock() + off_s[0] * units

        return reading

    time.time, time.time_ns = read(now, 1), read(now_ns, 10**9)
