"""Reward of the event accounting: minus the end-to-end delay in 100 ms per emitted packet, minus 10 per lost or late packet.

Packets flushed at the end have no reward. Source: `vcgym.network.playout.quality`.
"""

from typing import NamedTuple

import numpy as np

from vcgym.envs.call.rewards.reward import PATHS, allocate_state, begin, earned, reward
from vcgym.network.playout.quality import LOSS_PRICE, emission_reward

_STATE = np.dtype((np.record, [("delay_us", "i8"), ("missed", "i8")]))


@reward(PATHS)
class EventDelay(NamedTuple):
    """Reward from delay and loss at the receiver's emission; sums to `return_event` of the leaderboard."""


@allocate_state.register(EventDelay)
def _allocate(reward, sessions):
    return np.zeros(sessions, _STATE)


@begin.register(EventDelay)
def _begin(reward, state, accounts, s):
    state[s].delay_us = state[s].missed = 0


@earned.register(EventDelay)
def _earned(reward, state, accounts, s):
    receiver, before = accounts.calls[s].receiver, state[s]
    delay_us, missed = receiver.delay_us_sum, receiver.missed
    value = emission_reward(delay_us - before.delay_us) - LOSS_PRICE * (missed - before.missed)
    before.delay_us, before.missed = delay_us, missed
    return value
