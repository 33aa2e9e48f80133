"""The learned margin of a send order while it learns: it adds noise to its weighted sum, and records what it saw and did.

action = weighted sum + noise (`vcgym.agents.inside.noise`),       margin = 4 sigmoid(action)

A scheduler has no state, so that of each session is made anew from the state of all (`vcgym.baselines.order.scheduler.scheduler_of`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_margin import SBPN2, WIDTH, LearnedMargin, by_margin, observed, weighed
from vcgym.agents.inside.noise import density, following, require_noise
from vcgym.agents.inside.recorder import Recorder, add_decision, begin_recording, new_recorder
from vcgym.baselines.order.sbpn import best_of
from vcgym.baselines.order.scheduler import choose, choose_victim, scheduler_of
from vcgym.baselines.rule import allocate, init, rule
from vcgym.network.bottleneck.send_queue import VIDEO, item_at


@rule(None)
class SampledMargin(NamedTuple):
    """Parameters."""

    margin: LearnedMargin  # the policy
    sd: float  # of the noise, > 0
    memory: float  # correlation of the noise from decision to decision, 0 <= memory < 1
    mirrored: bool  # every second session has the noise of the one before, with the other sign
    decisions: int  # room of the recorder
    draw: int  # number of the exploration
    reward: Any  # parameters of a reward


class SampledMarginState(NamedTuple):
    """State; the first axis is the session."""

    x: NDArray[np.float32]  # (sessions, WIDTH)
    noise: NDArray[np.float64]
    recorder: Recorder


class SampledMarginOf(NamedTuple):
    """Scheduler of one session."""

    sampled: SampledMargin
    state: SampledMarginState
    row: int


@allocate.register(SampledMargin)
def _allocate(params, sessions, paths):
    require_noise(params.sd, params.memory)
    allocate(params.margin, sessions, paths)
    recorder = new_recorder(params.reward, sessions, params.decisions, WIDTH)
    return SampledMarginState(np.zeros((sessions, WIDTH), np.float32), np.zeros(sessions), recorder)


@init.register(SampledMargin)
def _init(params, state, s, start, key):
    twin = s // 2 if params.mirrored else s
    begin_recording(state.recorder, s, key, params.draw * state.noise.size + twin)


@scheduler_of.register(SampledMargin)
def _scheduler_of(order, state, row):
    return SampledMarginOf(order, state, row)


@choose.register(SampledMarginOf)
def _choose(params, queue, now_us, rtt_us):
    best = best_of(SBPN2, queue, now_us)
    if item_at(queue, best).kind != VIDEO:
        return choose(SBPN2, queue, now_us, rtt_us)
    sampled, state, s = params.sampled, params.state, params.row
    for i, value in enumerate(observed(queue, best, now_us, rtt_us)):
        state.x[s, i] = value
    mean = weighed(sampled.margin, state.x[s])
    state.noise[s] = following(sampled, state.noise[s], state.recorder, s)
    action = np.float32(mean + state.noise[s])
    add_decision(state.recorder, s, now_us, state.x[s], action, density(action - mean, sampled.sd))
    return by_margin(queue, best, now_us, rtt_us, action)


@choose_victim.register(SampledMarginOf)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return choose_victim(SBPN2, queue, kind, expires_us, now_us, rtt_us)
