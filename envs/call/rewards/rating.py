"""Reward of the score itself: what a decision changed in the E-model's R of the call so far (ITU-T G.107, `vcgym.network.playout.quality`).

A call of which nothing has been played stands at 93.2. The rewards of a call add up to R - 93.2, so that return and leaderboard rank alike,
whatever the length of the steps. R is of the call's totals and not a sum over ticks: the price of a concealed tick falls with those before
it, and the knee of the delay impairment is that of the mean delay.
"""

from typing import NamedTuple

import numpy as np

from vcgym.envs.call.rewards.reward import PATHS, allocate_state, begin, earned, reward
from vcgym.network.playout.quality import R_DEFAULT, rating


@reward(PATHS)
class Rating(NamedTuple):
    """R of the call so far, as the leaderboard has it."""


@allocate_state.register(Rating)
def _allocate(reward, sessions):
    return np.zeros(sessions)


@begin.register(Rating)
def _begin(reward, state, accounts, s):
    state[s] = R_DEFAULT


@earned.register(Rating)
def _earned(reward, state, accounts, s):
    counters = accounts.calls[s].counters
    ticks = counters.ticks_played + counters.ticks_stretched + counters.ticks_concealed
    if ticks == 0:
        return 0.0
    now = rating(counters.offset_us_sum / ticks / 1000.0, counters.ticks_concealed / ticks)
    value = now - state[s]
    state[s] = now
    return value
