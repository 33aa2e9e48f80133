"""The learned switch of paths while it learns: it changes with the probability sigmoid(output), and records what it saw and did."""

import math
from typing import Any, NamedTuple

import numpy as np

from vcgym.agents.controllers.learned_lag import output
from vcgym.agents.controllers.learned_switch import WIDTH, LearnedSwitch, LearnedSwitchState, best_other, change
from vcgym.agents.inside.recorder import Recorder, add_decision, begin_recording, new_recorder
from vcgym.baselines.rule import allocate, decide, init, rule, update
from vcgym.network.kernels import rng


@rule(None)
class SampledSwitch(NamedTuple):
    """Parameters."""

    switch: LearnedSwitch  # the policy
    decisions: int  # room of the recorder
    draw: int  # number of the exploration
    reward: Any  # parameters of a reward


class SampledSwitchState(NamedTuple):
    """State; the first axis is the session."""

    switch: LearnedSwitchState
    recorder: Recorder


@allocate.register(SampledSwitch)
def _allocate(params, sessions, paths):
    recorder = new_recorder(params.reward, sessions, params.decisions, WIDTH)
    return SampledSwitchState(allocate(params.switch, sessions, paths), recorder)


@init.register(SampledSwitch)
def _init(params, state, s, start, key):
    init(params.switch, state.switch, s, start, key)
    begin_recording(state.recorder, s, key, params.draw * state.recorder.decided.size + s)


@update.register(SampledSwitch)
def _update(params, state, s, record):
    update(params.switch, state.switch, s, record)


@decide.register(SampledSwitch)
def _decide(params, state, s, now_us):
    other = best_other(params.switch, state.switch, s, now_us)
    if other >= 0:
        logit = output(params.switch, state.switch.x[s], state.switch.layers[s])
        changes = rng.uniform(state.recorder.key[s], state.recorder.decided[s]) < 1.0 / (1.0 + math.exp(-logit))
        log_prob = -math.log1p(math.exp(-logit if changes else logit))
        add_decision(state.recorder, s, now_us, state.switch.x[s], np.float32(changes), np.float32(log_prob))
        if changes:
            change(state.switch, s, other, now_us)
    return state.switch.router.call[s].path
