"""Reward of the score itself: the change in the E-model's R of the call so far (ITU-T G.107, `vcgym.network.playout.quality`).

R is 93.2 before the first tick. The rewards of a call sum to R - 93.2, so return and leaderboard give the same ranks for steps of any
length. R is computed from the call's totals and is not a sum over ticks: the cost of a concealed tick falls with the number before it, and
the knee of the delay impairment applies to the mean delay.
"""

from typing import NamedTuple

import numpy as np

from vcgym.envs.call.rewards.reward import PATHS, allocate_state, begin, earned, reward
from vcgym.network.playout.quality import R_DEFAULT, rating


@reward(PATHS)
class Rating(NamedTuple):
    """Reward from R of the call so far, computed as on the leaderboard."""


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
