"""Rewards of the E-model (ITU-T G.107): call quality per tick, or the change in R of the call so far.

With a player, per 10-ms tick that is not silent: (93.2 - Id(P) - 378.5 concealed) / 100, with P the playout offset in ms. For a sender
alone, per 10 ms of audio with a known outcome: the same with P fixed at the expiry time; a packet that has not arrived by then is
concealed. Source: `vcgym.network.playout.quality`.

`Rating` is the score itself. R is 93.2 before the first tick. The rewards of a call sum to R - 93.2, so return and leaderboard give the
same ranks for steps of any length. R is computed from the call's totals and is not a sum over ticks: the cost of a concealed tick falls
with the number before it, and the knee of the delay impairment applies to the mean delay.
"""

from typing import NamedTuple

import numpy as np

from vcgym.envs.call.rewards.reward import PATHS, SENDER, allocate_state, begin, earned, reward
from vcgym.envs.call.sender.events import settled
from vcgym.network.bottleneck.send_queue import AUDIO
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.quality import (
    CONCEALED_PRICE,
    R_DEFAULT,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
    emodel_return,
    impairment_sum,
    rating,
)

TICKS_PER_MINUTE = 6000

_TICKS = np.dtype((np.record, [("ticks", "i8"), ("concealed", "i8"), ("offset_us", "i8"), ("excess_us", "i8")]))
_PACKETS = np.dtype((np.record, [("settled", "i8"), ("on_time", "i8")]))


@reward(PATHS)
class EModel(NamedTuple):
    """Reward from R of the player's output; sums to `return_emodel` of the leaderboard."""


@earned.register(EModel)
def _earned(reward, state, accounts, s):
    return emodel_return(*_since(accounts.calls[s].counters, state[s]))


@reward(PATHS)
class Impairment(NamedTuple):
    """Loss of R by delay and concealment, times its duration in minutes: `emodel` minus 93.2 in another unit.

    A perfect call has zero, and values are of order one, so that a value network starts close to the true values.
    """


@allocate_state.register(EModel, Impairment)
def _allocate_ticks(reward, sessions):
    return np.zeros(sessions, _TICKS)


@begin.register(EModel, Impairment)
def _begin_ticks(reward, state, accounts, s):
    before = state[s]
    before.ticks = before.concealed = before.offset_us = before.excess_us = 0


@earned.register(Impairment)
def _earned_impairment(reward, state, accounts, s):
    _, impairment, concealed = _since(accounts.calls[s].counters, state[s])
    return -(impairment + CONCEALED_PRICE * concealed) / TICKS_PER_MINUTE


@kernel
def _since(counters, before):
    """Return ticks, the sum of their Id, and concealed ticks since `before`, which is updated."""
    concealed, offset_us, excess_us = counters.ticks_concealed, counters.offset_us_sum, counters.excess_us_sum
    ticks = counters.ticks_played + counters.ticks_stretched + concealed
    since = ticks - before.ticks, impairment_sum(offset_us - before.offset_us, excess_us - before.excess_us), concealed - before.concealed
    before.ticks, before.concealed, before.offset_us, before.excess_us = ticks, concealed, offset_us, excess_us
    return since


@reward(PATHS)
class Rating(NamedTuple):
    """Reward from R of the call so far, computed as on the leaderboard."""


@allocate_state.register(Rating)
def _allocate_rating(reward, sessions):
    return np.zeros(sessions)


@begin.register(Rating)
def _begin_rating(reward, state, accounts, s):
    state[s] = R_DEFAULT


@earned.register(Rating)
def _earned_rating(reward, state, accounts, s):
    counters = accounts.calls[s].counters
    ticks = counters.ticks_played + counters.ticks_stretched + counters.ticks_concealed
    if ticks == 0:
        return 0.0
    now = rating(counters.offset_us_sum / ticks / 1000.0, counters.ticks_concealed / ticks)
    value = now - state[s]
    state[s] = now
    return value


@reward(SENDER)
class AudioEModel(NamedTuple):
    """Reward from R of a sender's audio if its packets are played at their expiry."""


@allocate_state.register(AudioEModel)
def _allocate_audio(reward, sessions):
    return np.zeros(sessions, _PACKETS)


@begin.register(AudioEModel)
def _begin_audio(reward, state, accounts, s):
    state[s].settled = state[s].on_time = 0


@earned.register(AudioEModel)
def _earned_audio(reward, state, accounts, s):
    sender, before = accounts.senders[s], state[s]
    counts = sender.counts[AUDIO]
    known, on_time = settled(sender, counts), counts.on_time
    packets, heard = known - before.settled, on_time - before.on_time
    before.settled, before.on_time = known, on_time
    return audio_return(sender.audio_every_us, sender.expiry_us, packets, packets - heard)


@kernel
def audio_return(every_us, expiry_us, packets, concealed):
    """Return the reward of `packets` audio packets with a known outcome, one every `every_us`, of which `concealed` are concealed.

    They are played at their expiry, `expiry_us` after capture.
    """
    offset_ms = expiry_us / 1000.0
    delay = REDUCED_SLOPE_PER_MS * offset_ms + REDUCED_KNEE_SLOPE_PER_MS * max(0.0, offset_ms - REDUCED_KNEE_MS)
    return every_us / 10_000.0 * ((R_DEFAULT - delay) * packets - CONCEALED_PRICE * concealed) / 100.0
