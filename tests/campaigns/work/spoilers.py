"""Faults injected into the process of a piece of work, chosen by the environment variable CAMPAIGN."""

import os
import random
import time

import numpy as np
from gymnasium.vector import VectorWrapper

VARIABLE = "CAMPAIGN"
STEP = 200  # step at which a value is corrupted


class Poisoned(VectorWrapper):
    """Environment whose observation or reward is NaN at one step."""

    def __init__(self, envs, what):
        super().__init__(envs)
        self.what, self.left = what, STEP

    def step(self, actions):
        """Corrupt one value at one step."""
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
    """Install the fault named by CAMPAIGN: nan-observation, nan-reward or clock."""
    kind, _, what = os.environ.get(VARIABLE, "").partition("-")
    if kind == "nan":
        from vcgym.agents.training import learners

        make_envs = learners.make_envs
        learners.make_envs = lambda *arguments: Poisoned(make_envs(*arguments), what)
    elif kind == "clock":
        _jump()


def _jump():
    """Make the wall clock jump by up to a day, forwards or back, at one in a hundred readings."""
    rng, now, now_ns, off_s = random.Random(1), time.time, time.time_ns, [0]

    def read(clock, units):
        def reading():
            if rng.random() < 0.01:
                off_s[0] = rng.randrange(-86_400, 86_400)
            return clock() + off_s[0] * units

        return reading

    time.time, time.time_ns = read(now, 1), read(now_ns, 10**9)
