"""The learned aim of a rate while it learns: it adds noise to the output of its network, and records what it saw and did.

action = output + noise (`vcgym.agents.inside.noise`),       aim = 12 ms * 5^sigmoid(action)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_aim import WIDTH, LearnedAim, LearnedAimState, follow, is_due, set_aim
from vcgym.agents.controllers.learned_lag import output
from vcgym.agents.inside.noise import density, following, require_noise
from vcgym.agents.inside.recorder import Recorder, add_decision, add_gain, begin_recording, new_recorder
from vcgym.baselines.rule import allocate, decide, init, pacing, rule, see_sender, update


@rule(None)
class SampledAim(NamedTuple):
    """Parameters."""

    aim: LearnedAim  # the policy
    sd: float  # of the noise, > 0
    memory: float  # correlation of the noise from decision to decision, 0 <= memory < 1
    mirrored: bool  # every second session has the noise of the one before, with the other sign
    decisions: int  # room of the recorder
    draw: int  # number of the exploration
    reward: Any  # parameters of a reward


class SampledAimState(NamedTuple):
    """State; the first axis is the session."""

    aim: LearnedAimState
    noise: NDArray[np.float64]
    recorder: Recorder


@allocate.register(SampledAim)
def _allocate(params, sessions, paths):
    require_noise(params.sd, params.memory)
    recorder = new_recorder(params.reward, sessions, params.decisions, WIDTH)
    return SampledAimState(allocate(params.aim, sessions, paths), np.zeros(sessions), recorder)


@init.register(SampledAim)
def _init(params, state, s, start, key):
    init(params.aim, state.aim, s, start, key)
    twin = s // 2 if params.mirrored else s
    begin_recording(state.recorder, s, key, params.draw * state.noise.size + twin)


@update.register(SampledAim)
def _update(params, state, s, record):
    update(params.aim, state.aim, s, record)


@see_sender.register(SampledAim)
def _see_sender(params, state, s, status):
    see_sender(params.aim, state.aim, s, status)


@decide.register(SampledAim)
def _decide(params, state, s, now_us):
    add_gain(state.recorder, s)  # at each report, since the reward of a report is no linear function of its counts
    if is_due(state.aim, s):
        mean = output(params.aim, state.aim.x[s], state.aim.layers[s])
        state.noise[s] = following(params, state.noise[s], state.recorder, s)
        action = np.float32(mean + state.noise[s])
        add_decision(state.recorder, s, now_us, state.aim.x[s], action, density(action - mean, params.sd))
        set_aim(state.aim, s, action)
    return follow(state.aim, s)


@pacing.register(SampledAim)
def _pacing(params, state, s, default):
    return pacing(params.aim, state.aim, s, default)
