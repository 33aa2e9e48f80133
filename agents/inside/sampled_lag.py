"""The learned lag while it learns: it adds noise to the output of its network, and records what it saw and did.

    action = output + noise,       target = newest delay + 20 ms softplus(action)

The noise (`vcgym.agents.inside.noise`) is correlated over arrivals, because the player follows a target at 10 ms in 100 ms.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_lag import LearnedLag, LearnedLagState, aim, output, take_in
from vcgym.agents.inside.noise import density, density_after, following, require_noise
from vcgym.agents.inside.recorder import Recorder, add_decision, begin_recording, new_recorder
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import allocate, decide, init, rule, update


@rule(None)
class SampledLag(NamedTuple):
    """Parameters."""

    lag: LearnedLag  # the policy
    sd: float  # of the noise, > 0
    memory: float  # correlation of the noise from arrival to arrival, 0 <= memory < 1
    after: bool  # its density is that after the noise before, else of each noise alone
    mirrored: bool  # every second session has the noise of the one before, with the other sign
    decisions: int  # room of the recorder
    draw: int  # number of the exploration
    reward: Any  # parameters of a reward


class SampledLagState(NamedTuple):
    """State; the first axis is the session."""

    lag: LearnedLagState
    noise: NDArray[np.float64]
    recorder: Recorder


@allocate.register(SampledLag)
def _allocate(params, sessions, paths):
    require_noise(params.sd, params.memory)
    lag = allocate(params.lag, sessions, paths)
    return SampledLagState(lag, np.zeros(sessions), new_recorder(params.reward, sessions, params.decisions, lag.x.shape[1]))


@init.register(SampledLag)
def _init(params, state, s, start, key):
    init(params.lag, state.lag, s, start, key)
    twin = s // 2 if params.mirrored else s
    begin_recording(state.recorder, s, key, params.draw * state.noise.size + twin)


@update.register(SampledLag)
def _update(params, state, s, record):
    if record.kind != MEDIA:
        return
    smallest_ms = take_in(state.lag, s, record)
    mean = output(params.lag, state.lag.x[s], state.lag.layers[s])
    noise = following(params, state.noise[s], state.recorder, s)
    action = np.float32(mean + noise)
    log_prob = density_after(params, noise, state.noise[s], state.recorder, s) if params.after else density(action - mean, params.sd)
    state.noise[s] = noise
    add_decision(state.recorder, s, record.arrived_us, state.lag.x[s], action, log_prob)
    aim(state.lag, s, action, smallest_ms)


@decide.register(SampledLag)
def _decide(params, state, s, now_us):
    return state.lag.lag_us[s]
