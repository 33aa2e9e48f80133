"""Rate rules and schedulers as policies: the same `predict` as a learned agent, with records as observations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.order.scheduler import choose
from vcgym.baselines.records import PacketFeedback, RateLimits
from vcgym.baselines.rule import (
    NEVER_US,
    Control,
    allocate,
    decide,
    for_kernels,
    init,
    is_oracle,
    report_every_us,
    require_rule,
    update,
    wake_us,
    window_bytes,
)  # fmt: skip
from vcgym.network.bottleneck.send_queue import MAX_WAITING, SendQueue, put
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import records

_MAX_BPS = 10**9


class RatePolicy:
    """Controller of the rate by a published rule.

    The rule's memory is in the state passed in and out, never in the policy, so one policy can act in any number of calls.

    Attributes:
        reads: "records", the observation that a rollout must build.
        action: "exact": bit/s, interval between receiver reports, and time until a decision without a report.

    Args:
        params: parameters of the rule.
    """

    reads = "records"
    action = "exact"

    def __init__(self, params: Any) -> None:
        require_rule("rate", params, Control.RATE)
        if is_oracle(params):
            raise ValueError(f"rate = {params!r} is an oracle: allowed are rules that use observations only")
        if type(params) in window_bytes.versions:
            raise ValueError(f"rate = {type(params).__name__} also sets a window: allowed are rules that set only a rate")
        self.params = params

    def predict(
        self,
        observation: dict[str, NDArray[Any]],
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Start the sessions whose episode starts, update on packet feedback in order, then decide; at set-up nothing is decided."""
        sessions = len(observation["count"])
        if state is None:
            state, episode_start = allocate(self.params, sessions, 1), np.ones(sessions, np.bool_)
        elif episode_start is None:
            episode_start = np.zeros(sessions, np.bool_)
        _start(for_kernels(self.params), state, np.asarray(episode_start, np.bool_), observation["history"], observation["key"])
        actions = np.empty((sessions, 3), np.int64)
        _act(for_kernels(self.params), state, observation["records"], observation["count"], observation["now_us"], actions)
        return actions, state


@allocating_kernel
def _start(params, state, starts, history, key):
    for s in range(starts.size):
        if starts[s]:
            init(params, state, s, RateLimits(history[s, 0, 0], history[s, 0, 1], history[s, 0, 2]), key[s])


@kernel
def _act(params, state, records, count, now_us, actions):
    for s in range(actions.shape[0]):
        for i in range(count[s]):
            row = records[s, i]
            update(params, state, s, PacketFeedback(row[0], row[1], row[2], row[3], row[4], row[5]))
        rate_bps = np.int64(0)
        if now_us[s] > 0:
            rate_bps = min(max(np.int64(decide(params, state, s, now_us[s])), np.int64(1)), np.int64(_MAX_BPS))
        at_us = wake_us(params, state, s)
        actions[s, 0] = rate_bps
        actions[s, 1] = report_every_us(params, state, s, 0)
        actions[s, 2] = max(at_us - now_us[s], np.int64(1)) if at_us < NEVER_US else np.int64(0)


class OrderPolicy:
    """Packet scheduler that follows a published, stateless rule.

    Attributes:
        reads: "records", the observation that a rollout must build.
        action: "discrete".

    Args:
        params: parameters of the rule.
    """

    reads = "records"
    action = "discrete"

    def __init__(self, params: Any) -> None:
        require_rule("order", params, Control.ORDER)
        self.params = params

    def predict(
        self,
        observation: dict[str, NDArray[Any]],
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Choose packets, int64 (S,): a < L sends the a-th oldest of the records (S, L, 5), L + a drops it."""
        actions = np.empty(len(observation["count"]), np.int64)
        queue = records(SendQueue, 1)
        params, seen = for_kernels(self.params), observation
        _choose(params, queue, seen["records"], seen["count"], seen["now_us"], seen["rtt_us"], actions)
        return actions, state


@kernel
def _choose(params, queues, records, count, now_us, rtt_us, actions):
    places = records.shape[1]
    queue = queues[0]
    for s in range(actions.size):
        actions[s] = 0
        if count[s] > 0:
            queue.limit, queue.first, queue.waiting, queue.bytes = MAX_WAITING, 0, 0, 0
            for i in range(count[s]):
                row = records[s, i]
                put(queue, row[0], row[1], row[2], row[3], row[4])
            answer = choose(params, queue, now_us[s], rtt_us[s])
            actions[s] = answer if answer >= 0 else places - 1 - answer
