"""A rule as a policy: the same `predict` as a learned agent, with records as observations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import PATHS, controls_of
from vcgym.baselines.records import read_record
from vcgym.baselines.rule import allocate, decide, for_kernels, start, update
from vcgym.baselines.systems import System
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US


class RulePolicy:
    """Controller of controls over paths, of one or of several, by published rules.

    The rules' memory is in the state passed in and out, never in the policy, so one policy can act in any number of calls.

    Attributes:
        reads: "records", the observation that a rollout must build.
        action: "exact": for each control a path index, or a lag in microseconds, not discretised.
        rules: the rules, in the order of the table of controls.

    Args:
        rules: one rule of each control that this policy sets.
    """

    reads = "records"
    action = "exact"

    def __init__(self, *rules: Any) -> None:
        system = System(*rules)
        if not system.chosen or system.of(PATHS) != system.rules:
            found, allowed = ", ".join(system.rules) or "no control", ", ".join(controls_of(PATHS))
            raise ValueError(f"RulePolicy has rules of {found}: allowed are {allowed}")
        if system.is_oracle:
            raise ValueError(f"RulePolicy: {system.chosen} has an oracle; allowed are rules that use observations only")
        self.rules = system.chosen

    def predict(
        self,
        observation: dict[str, NDArray[Any]],
        state: tuple[Any, ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
        """Start the sessions whose episode starts, update on each new record in order, then decide.

        Args:
            observation: records (S, R, 8) int64 in the order of `Record`'s fields, with count (S,) int64 new ones in the first rows;
                history (S, paths, 3) float64; key (S,) uint64; slot (S,) int64.
            state: state returned by the previous call. It is modified in place and returned; copy it to keep it. None starts every session.
            episode_start: (S,) bool; None starts none, unless `state` is None.
            deterministic: ignored; draws are a function of the key and the slot.

        Returns:
            Actions, int64: (S,) of one control, path index or lag in us, or (S, controls) of several; and the state, one entry per rule,
            as returned by `allocate`.

        Raises:
            ValueError: `count` exceeds the rows of `records`.
        """
        history = observation["history"]
        sessions, paths = history.shape[:2]
        records, count = observation["records"], observation["count"]
        if count.size and not 0 <= count.min() <= count.max() <= records.shape[1]:
            raise ValueError(f"count is {count.min()} to {count.max()}; allowed range is [0, {records.shape[1]}], the rows of records")
        if state is None:
            state = tuple(allocate(params, sessions, paths) for params in self.rules)
            episode_start = np.ones(sessions, np.bool_)
        elif episode_start is None:
            episode_start = np.zeros(sessions, np.bool_)
        actions = np.empty((sessions, len(self.rules)), np.int64)
        for column, (params, rows) in enumerate(zip(self.rules, state, strict=True)):
            compiled = for_kernels(params)
            start(compiled, rows, np.asarray(episode_start, np.bool_), history, observation["key"])
            _act(compiled, rows, records, count, observation["slot"], actions[:, column])
        return (actions[:, 0] if len(self.rules) == 1 else actions), state


@kernel
def _act(params, state, records, count, slot, actions):
    for s in range(actions.size):
        for i in range(count[s]):
            update(params, state, s, read_record(records[s], i))
        actions[s] = decide(params, state, s, slot[s] * SLOT_US)
