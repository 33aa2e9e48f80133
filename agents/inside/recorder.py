"""A recorder: what a stochastic rule keeps of its decisions while it learns, for an update outside the loop.

    x, action, log_prob     observation, what was drawn, and the logarithm of its probability (or density) under the policy that drew it
    slot                    10-ms slot of the decision
    gain                    reward from the decision to the next one, from the counters of the call: the truth, which no rule may read

Therefore a rule with a recorder names no control (`vcgym.baselines.rule.rule`): no system accepts it, so it is never played on a board. It
starts only after `bind` gave it the counters of a batch.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.paths.state import CallState
from vcgym.envs.call.rewards.reward import PATHS, Accounts, allocate_state, begin, earned
from vcgym.envs.call.sender.state import SenderState
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US


class Recorder(NamedTuple):
    """Decisions of calls; the first axis is the session, the second the number of the decision."""

    reward: Any  # parameters of a reward
    account: Any  # its state
    accounts: Accounts  # counters that the reward reads, (sessions,) once bound, (0,) before
    x: NDArray[np.float32]  # (sessions, decisions, features)
    action: NDArray[np.float32]  # (sessions, decisions)
    log_prob: NDArray[np.float32]
    slot: NDArray[np.int32]
    gain: NDArray[np.float32]
    decided: NDArray[np.int64]  # (sessions,), decisions so far
    key: NDArray[np.uint64]  # (sessions,), key of the exploration


def new_recorder(reward: Any, sessions: int, decisions: int, features: int) -> Recorder:
    """Return a recorder with room for `decisions` of each session."""
    shape = sessions, decisions
    return Recorder(
        reward, allocate_state(reward, sessions), accounts_of(reward, records(CallState if reward.reads == PATHS else SenderState, 0)),
        np.zeros((*shape, features), np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.int32),
        np.zeros(shape, np.float32), np.zeros(sessions, np.int64), np.zeros(sessions, np.uint64),
    )  # fmt: skip


def accounts_of(reward: Any, counted: NDArray[np.void]) -> Accounts:
    """Return the counters that a reward reads: (sessions,) of CallState or of SenderState, and none of the other."""
    return Accounts(counted, counted[:0]) if reward.reads == PATHS else Accounts(records(CallState, 0), counted)


def bind(recorder: Recorder, counted: NDArray[np.void]) -> Recorder:
    """Return the recorder with the calls or the senders of a batch, which must start after this."""
    return recorder._replace(accounts=accounts_of(recorder.reward, counted))


@allocating_kernel
def begin_recording(recorder, s, key, exploration):
    """Start row `s`.

    Args:
        recorder: Recorder; row `s` is overwritten.
        s: int64, row.
        key: uint64, key of the rule's random draws, equal in all replicas of a world.
        exploration: int64, number of this exploration; another one has other draws.

    Raises:
        ValueError: the recorder is not bound.
    """
    if recorder.accounts.calls.size + recorder.accounts.senders.size == 0:
        raise ValueError("a rule that learns inside the loop has no calls to read: allowed is one that its learner has bound to a batch")
    recorder.decided[s] = 0
    recorder.key[s] = rng.stream_key(key, exploration, rng.POLICY)
    begin(recorder.reward, recorder.account, recorder.accounts, s)


@kernel
def add_gain(recorder, s):
    """Add the reward since the last call of this function to the last decision of row `s`.

    Args:
        recorder: Recorder; row `s` is updated.
        s: int64, row.
    """
    value = earned(recorder.reward, recorder.account, recorder.accounts, s)
    n = recorder.decided[s]
    if n > 0:
        recorder.gain[s, n - 1] += value


@kernel
def add_decision(recorder, s, now_us, x, action, log_prob):
    """Record a decision, and the reward of the one before; without room, only the reward.

    Args:
        recorder: Recorder; row `s` is updated.
        s: int64, row.
        now_us: int64, time of the decision.
        x: float32 (features,), observation.
        action: float32, what was drawn.
        log_prob: float32, logarithm of its probability or density.
    """
    add_gain(recorder, s)
    n = recorder.decided[s]
    if n == recorder.action.shape[1]:
        return
    for i in range(x.size):
        recorder.x[s, n, i] = x[i]
    recorder.action[s, n], recorder.log_prob[s, n] = action, log_prob
    recorder.slot[s, n], recorder.gain[s, n] = now_us // SLOT_US, 0.0
    recorder.decided[s] = n + 1


@kernel
def close(recorder):
    """Add the rewards after the last decisions, at the end of all calls."""
    for s in range(recorder.decided.size):
        add_gain(recorder, s)
