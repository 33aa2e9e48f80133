"""Rewards of the E-model (ITU-T G.107): call quality per tick, or the change in R of the call so far; and of the receiver's emissions.

With a player, per 10-ms tick that is not silent: (93.2 - Id(P) - 378.5 concealed) / 100, with P the playout offset in ms. For a sender
alone, per 10 ms of audio with a known outcome: the same with P fixed at the expiry time; a packet that has not arrived by then is
concealed. Source: `vcgym.network.playout.quality`.

`Rating` is the score itself. R is 93.2 before the first tick. The rewards of a call sum to R - 93.2, so return and leaderboard give the
same ranks for steps of any length. R is computed from the call's totals and is not a sum over ticks: the cost of a concealed tick falls
with the number before it, and the knee of the delay impairment applies to the mean delay.

`EventDelay` is minus the end-to-end delay in 100 ms per emitted packet, minus 10 per lost or late packet, without those flushed at the end.
"""

from typing import NamedTuple

from vcgym.envs.call.rewards.reward import PATHS, SENDER, earned, reward
from vcgym.envs.call.sender.events import settled
from vcgym.network.bottleneck.send_queue import AUDIO
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.quality import (
    CONCEALED_PRICE,
    LOSS_PRICE,
    R_DEFAULT,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
    emission_reward,
    emodel_return,
    impairment_sum,
    rating,
)

TICKS_PER_MINUTE = 6000
_TICKS = dict.fromkeys(("ticks", "concealed", "offset_us", "excess_us"), 0)  # that have been rewarded


@reward(PATHS, **_TICKS)
class EModel(NamedTuple):
    """Reward from R of the player's output; sums to `return_emodel` of the leaderboard."""


@earned.register(EModel)
def _earned(reward, state, accounts, s):
    return emodel_return(*_since(accounts.calls[s].counters, state[s]))


@reward(PATHS, **_TICKS)
class Impairment(NamedTuple):
    """Loss of R by delay and concealment, times its duration in minutes: `emodel` minus 93.2 in another unit.

    A perfect call has zero, and values are of order one, so that a value network starts close to the true values.
    """


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


@reward(PATHS, r=R_DEFAULT)
class Rating(NamedTuple):
    """Reward from R of the call so far, computed as on the leaderboard."""


@earned.register(Rating)
def _earned_rating(reward, state, accounts, s):
    counters = accounts.calls[s].counters
    ticks = counters.ticks_played + counters.ticks_stretched + counters.ticks_concealed
    if ticks == 0:
        return 0.0
    now = rating(counters.offset_us_sum / ticks / 1000.0, counters.ticks_concealed / ticks)
    value = now - state[s].r
    state[s].r = now
    return value


@reward(PATHS, delay_us=0, missed=0)
class EventDelay(NamedTuple):
    """Reward from delay and loss at the receiver's emission; sums to `return_event` of the leaderboard."""


@earned.register(EventDelay)
def _earned_event(reward, state, accounts, s):
    receiver, before = accounts.calls[s].receiver, state[s]
    delay_us, missed = receiver.delay_us_sum, receiver.missed
    value = emission_reward(delay_us - before.delay_us) - LOSS_PRICE * (missed - before.missed)
    before.delay_us, before.missed = delay_us, missed
    return value


@reward(SENDER, settled=0, on_time=0)
class AudioEModel(NamedTuple):
    """Reward from R of a sender's audio if its packets are played at their expiry."""


@earned.register(AudioEModel)
def _earned_audio(reward, state, accounts, s):
    sender, before = accounts.senders[s], state[s]
    counts = sender.counts[AUDIO]
    known, on_time = settled(sender, counts), counts.on_time
    packets, in_time = known - before.settled, on_time - before.on_time
    before.settled, before.on_time = known, on_time
    return audio_return(sender.audio_every_us, sender.expiry_us, packets, packets - in_time)


@kernel
def audio_return(every_us, expiry_us, packets, concealed):
    """Return the reward of `packets` audio packets with a known outcome, one every `every_us`, of which `concealed` are concealed.

    They are played at their expiry, `expiry_us` after capture.
    """
    offset_ms = expiry_us / 1000.0
    delay = REDUCED_SLOPE_PER_MS * offset_ms + REDUCED_KNEE_SLOPE_PER_MS * max(0.0, offset_ms - REDUCED_KNEE_MS)
    return every_us / 10_000.0 * ((R_DEFAULT - delay) * packets - CONCEALED_PRICE * concealed) / 100.0
