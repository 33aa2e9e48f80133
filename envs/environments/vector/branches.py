"""States of the native vector environments: to save one, to go on from it, and to branch into what each of several actions leads to.

A state is the seeds, options and decisions of the calls under way; they are replayed to restore it.
"""

from functools import partial
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from vcgym.envs.environments.vector.checks import checked_actions, checked_alternatives
from vcgym.envs.environments.vector.episodes import EpisodeVectorEnv
from vcgym.envs.environments.vector.progress import UnderWay
from vcgym.network.kernels.ranges import require_number


class BranchVectorEnv(EpisodeVectorEnv):
    """Vector environment whose state can be saved, restored and branched from; arguments are those of `EpisodeVectorEnv`."""

    def branch(self, actions: Any, policy: Any = None, gamma: float = 1.0) -> NDArray[np.float64]:
        """Return what each of several next actions leads to in the same worlds; afterwards the environment is where it was.

        Args:
            actions: (alternatives, num_envs, ...). In each alternative all sessions take its actions, then go on to the end of the episode.
            policy: acts from the second decision on, and begins without memory: an object with `predict` of Stable-Baselines3, asked to be
                deterministic, or a function of a batch of observations. Both may ask this environment for `action_masks`. None: the same
                action at each decision.
            gamma: discount per decision, 0 to 1.

        Returns:
            float64 (alternatives, num_envs), the sum of discounted rewards; the next one has weight 1.

        Raises:
            ClosedEnvironmentError: after `close`.
            ResetNeeded: before the first reset, or a session is done.
            ValueError: wrong shape, an action outside the space, or gamma out of range.
        """
        self._require_open("branch")
        require_number("gamma", gamma, 0.0, 1.0)
        alternatives = checked_alternatives(actions, self.action_space)
        waiting = (self._progress.episodes < 0) | self._done
        if waiting.any():
            raise ResetNeeded(f"sessions {np.flatnonzero(waiting).tolist()} must be reset before they branch")
        state, returns = self.get_state(), []
        for taken in alternatives:
            try:
                returns.append(self._play_on(taken, policy, gamma))
            finally:
                self.set_state(state)
        return np.stack(returns)

    def _play_on(self, actions: NDArray[Any], policy: Any, gamma: float) -> NDArray[np.float64]:
        """Play all sessions to the end of their episodes, without starting others; return the discounted sums of rewards."""
        returns, rewards, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        running, weight = np.arange(self.num_envs), 1.0
        state, starts = None, np.ones(self.num_envs, bool)
        while True:
            self._decide(checked_actions(actions, self.action_space), running)
            self.batch.shards.each(partial(self._step_shard, rewards, truncated, self._shown), running)
            returns[running] += weight * rewards[running]
            running, weight = running[~truncated[running]], weight * gamma
            if not len(running):
                return returns
            if hasattr(policy, "predict"):
                actions, state = policy.predict(self._last_observations(), state, starts, deterministic=True)
            elif policy is not None:
                actions = policy(self._last_observations())
            starts = np.zeros(self.num_envs, bool)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the progress of the calls as plain arrays; `set_state` on an env with the same arguments resumes from it."""
        return self._progress.snapshot(self._arguments, self.np_random)

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore a state of `get_state` by replaying its calls, which takes as long as before, without the agent's time.

        Raises:
            ValueError: the state is of an env with other arguments, or no decisions lead to it. In the second case all sessions must be
                reset.
        """
        progress = self._progress
        calls = progress.restored(state, self._arguments, self.np_random)
        options = {line: progress.options_of(line) for line in calls.options}
        for of_line in options.values():
            self._refuse_options(**of_line)
        try:
            progress.forget(calls.seeds, calls.episodes)
            for line, of_line in options.items():
                rows = np.flatnonzero((calls.episodes >= 0) & (np.array(calls.options) == line))
                if len(rows):
                    self._begin_calls(rows, self._shown, **of_line)
            self._done = self._replay(calls)
        except BaseException:
            progress.episodes[:] = -1
            raise

    def _replay(self, calls: UnderWay) -> NDArray[np.bool_]:
        """Replay started calls with the decisions of a state; return a mask of those that are done."""
        rewards, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        _, fresh = self._allocate_observations()
        for before_end in range(len(calls.decisions), 0, -1):
            rows = np.flatnonzero(calls.steps >= before_end)
            if truncated[rows].any():
                row = rows[truncated[rows]][0]
                allowed = f"0 to {calls.steps[row] - before_end}, when the call is done"
                raise ValueError(f"state of an env: steps[{row}] is {calls.steps[row]}; allowed: {allowed}")
            self._decide(checked_actions(calls.decisions[-before_end], self.action_space), rows)
            self.batch.shards.each(partial(self._step_shard, rewards, truncated, fresh), rows)
        return truncated
