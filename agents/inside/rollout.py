"""A rollout: whole calls of a task with rules given, the decisions of the one that explores, and the reward of each call.

The compiled loop itself draws and records the decisions (`vcgym.agents.inside.sampled`), so a rollout is as fast as the packets.

Example:
    Four replicas of each of two worlds, with a lag that explores::

        task = task_of(EnvConfig(id="vcgym/Playout-v1"), Training(calls=8, worlds=50))
        (played,) = rollout(task, {"playout": task.sampled(lag, Normal(sd=0.5))}, replicas=4, draws=np.random.default_rng(0))
        played.returned.mean()
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.inside.recorder import Recorder, accounts_of, close, new_recorder
from vcgym.agents.inside.sampled import SampledState
from vcgym.agents.inside.tasks import Task
from vcgym.envs.call.rewards.reward import allocate_state, begin_row, write_rewards


class Decisions(NamedTuple):
    """Decisions of one call or of several; without axes of calls."""

    x: NDArray[np.float32]  # (decisions, features)
    action: NDArray[np.float32]
    log_prob: NDArray[np.float32]  # of the policy that drew the action
    advantage: NDArray[np.float32]


class Rollout(NamedTuple):
    """Calls of one kind of worlds; the first axis is the call, the second the number of a decision of the rule that explores."""

    x: NDArray[np.float32]  # (calls, decisions, features)
    action: NDArray[np.float32]
    log_prob: NDArray[np.float32]
    slot: NDArray[np.int32]
    gain: NDArray[np.float32]  # reward from the decision to the next
    decided: NDArray[np.int64]  # (calls,), decisions of each call; what is beyond them has no meaning
    returned: NDArray[np.float64]  # (calls,), reward of the whole call
    rated: NDArray[np.float64] | None  # (calls,), R; None: it is not what the calls are ranked by
    packets: int

    def call(self, s: int, advantage: NDArray[np.float32]) -> Decisions:
        """Return the decisions of call `s`, with the advantages (calls, decisions) of all."""
        n = self.decided[s]
        return Decisions(self.x[s, :n], self.action[s, :n], self.log_prob[s, :n], advantage[s, :n])


def rollout(task: Task, rules: Mapping[str, Any], replicas: int, draws: np.random.Generator) -> list[Rollout]:
    """Play replicas of some training worlds of each kind to their ends.

    Args:
        task: what is learned, and the surroundings.
        rules: rule of each learned control; at most one explores, as `Task.sampled` makes it.
        replicas: consecutive calls in one world; divides the number of calls.
        draws: generator that chooses the worlds.
    """
    return [play_drawn_worlds(task, rules, worlds, replicas, draws) for worlds in task.training_worlds]


def play_drawn_worlds(task: Task, rules: Mapping[str, Any], worlds: Any, replicas: int, draws: np.random.Generator) -> Rollout:
    """Play replicas of worlds of one kind, which `draws` chooses."""
    count = task.training.calls // replicas
    drawn = draws.choice(len(worlds), count, replace=count > len(worlds))
    return play(task, rules, worlds, np.repeat(drawn, replicas))


def play(task: Task, rules: Mapping[str, Any], worlds: Any, which: NDArray[np.int64]) -> Rollout:
    """Play one call in each world of these numbers, of worlds of one kind."""
    batch, states = task.started({**task.rules, **rules}, worlds, which)
    rows, returned = np.arange(len(which)), np.zeros(len(which))
    state, accounts = allocate_state(task.reward, len(which)), accounts_of(task.reward, task.counted(batch))
    exploring: Recorder | None = next((state.recorder for state in states if isinstance(state, SampledState)), None)
    for row in rows:
        begin_row(task.reward, state, accounts, row)
    batch.play(rows)
    if exploring is not None:
        close(exploring)
    write_rewards(task.reward, state, accounts, rows, returned)
    recorder = exploring or new_recorder(task.reward, len(which), 0, 0)
    decisions = recorder.x, recorder.action, recorder.log_prob, recorder.slot, recorder.gain, recorder.decided
    return Rollout(*decisions, returned, task.rated(batch), task.packets(batch))
