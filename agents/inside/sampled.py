"""A policy while it learns: it draws its decisions from the output of its network, and records what it saw and did."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.policy import act, answer, consider, due, observe, output, place
from vcgym.agents.inside.noise import Noise, explore, require_noise, twin
from vcgym.agents.inside.recorder import Recorder, add_decision, add_gain, begin_recording, bind, new_recorder
from vcgym.baselines.order.scheduler import choose, choose_victim, scheduler_of
from vcgym.baselines.rule import allocate, decide, init, pacing, rule, see_sender, update
from vcgym.network.kernels.jit import kernel


@rule(None)
class Sampled(NamedTuple):
    """Parameters."""

    policy: Any  # parameters of a rule with the functions of `vcgym.agents.controllers.policy`
    noise: Noise
    decisions: int  # room of the recorder
    exploration: int  # its number: another one draws other noise
    reward: Any  # parameters of a reward


class SampledState(NamedTuple):
    """State; the first axis is the session."""

    policy: Any
    last_noise: NDArray[np.float64]
    recorder: Recorder


class SampledOrder(NamedTuple):
    """Scheduler of one session, made anew from the state of all, since a scheduler has none."""

    sampled: Sampled
    state: SampledState
    row: int


def bound(state: Any, counted: NDArray[np.void]) -> Any:
    """Return the state of a rule; that of `Sampled` with the calls or the senders of its batch, see `recorder.bind`."""
    return state._replace(recorder=bind(state.recorder, counted)) if isinstance(state, SampledState) else state


@allocate.register(Sampled)
def _allocate(params, sessions, paths):
    require_noise(params.noise)
    policy = allocate(params.policy, sessions, paths)
    return SampledState(policy, np.zeros(sessions), new_recorder(params.reward, sessions, params.decisions, policy.x.shape[1]))


@init.register(Sampled)
def _init(params, state, s, start, key):
    init(params.policy, state.policy, s, start, key)
    sessions = state.last_noise.size  # a number of its own for each exploration and row, but for rows that mirror each other
    begin_recording(state.recorder, s, key, params.exploration * sessions + twin(params.noise, s))


@update.register(Sampled)
def _update(params, state, s, record):
    if observe(params.policy, state.policy, s, record):
        act(params.policy, state.policy, s, _drawn(params, state, s, record.arrived_us), record.arrived_us)


@decide.register(Sampled)
def _decide(params, state, s, now_us):
    if state.recorder.accounts.senders.size > 0:
        add_gain(state.recorder, s)  # at each report, since the reward of a report is no linear function of its counts
    if due(params.policy, state.policy, s, now_us):
        act(params.policy, state.policy, s, _drawn(params, state, s, now_us), now_us)
    return answer(params.policy, state.policy, s)


@see_sender.register(Sampled)
def _see_sender(params, state, s, status):
    see_sender(params.policy, state.policy, s, status)


@pacing.register(Sampled)
def _pacing(params, state, s, default):
    return pacing(params.policy, state.policy, s, default)


@scheduler_of.register(Sampled)
def _scheduler_of(order, state, row):
    return SampledOrder(order, state, row)


@choose.register(SampledOrder)
def _choose(params, queue, now_us, rtt_us):
    sampled, state, s = params.sampled, params.state, params.row
    index = consider(sampled.policy, state.policy, s, queue, now_us, rtt_us)
    if index < 0:
        return choose(sampled.policy, queue, now_us, rtt_us)
    return place(sampled.policy, queue, index, now_us, rtt_us, _drawn(sampled, state, s, now_us))


@choose_victim.register(SampledOrder)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return choose_victim(params.sampled.policy, queue, kind, expires_us, now_us, rtt_us)


@kernel
def _drawn(params, state, s, now_us):
    """Draw and record a decision of row `s`; return the action, float32."""
    out = output(params.policy, state.policy, s)
    action, log_prob = explore(params.noise, state.last_noise, state.recorder, s, out)
    add_decision(state.recorder, s, now_us, state.policy.x[s], action, log_prob)
    return action
