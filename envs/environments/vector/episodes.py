"""Base of the native vector environments: seeds, resets, autoreset modes, observations, rewards, checked actions.

A step is one decision of each session. Subclasses define the session, its observations and its controls; all of them are
`vcgym.envs.environments.vector.branches.BranchVectorEnv`, which saves states and branches.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from vcgym.envs.call.batch import ThreadedBatch
from vcgym.envs.call.features.layout import ObservationLayout
from vcgym.envs.call.rewards.reward import allocate_state, begin_row, write_rewards
from vcgym.envs.call.stages import DONE
from vcgym.envs.environments.made_with import Marking
from vcgym.envs.environments.vector.checks import checked_actions, checked_autoreset, checked_mask, checked_seeds
from vcgym.envs.environments.vector.progress import Progress
from vcgym.network.kernels.ranges import one_of, require_whole
from vcgym.network.kernels.record import plain


class EpisodeVectorEnv(Marking, VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """Vector environment of parallel sessions, each with one decision per step; an episode ends by truncation.

    Attributes:
        holds: decisions of a session that one action sets.

    Args:
        batch: the sessions.
        layout: parts of an observation.
        observation: "features", a flat Box; anything else: the parts of `layout` by name.
        single_action_space: action space of one session.
        reward: parameters of a reward.
        accounts: counters that the reward reads.
        arguments: arguments that a saved state must match: all that affect the future.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED, or gymnasium's enum.
        render_mode: None; only the scalar environment draws.
        max_episode_steps: decisions after which a call is truncated; None: at its end.
        worlds: number n of worlds, >= 1: a session that would play world s plays world ``s % n``; None: any.
    """

    batch: ThreadedBatch
    holds: int = 1
    reset_options: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        batch: ThreadedBatch,
        layout: ObservationLayout,
        observation: str,
        single_action_space: spaces.Space[Any],
        *,
        reward: Any,
        accounts: Any,
        arguments: tuple[Any, ...],
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
        max_episode_steps: int | None,
        worlds: int | None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode = {render_mode!r}: allowed is None in a batch; gymnasium.make draws")
        if max_episode_steps is not None:
            require_whole(max_episode_steps=(max_episode_steps, 1, 1 << 31))
        if worlds is not None:
            require_whole(worlds=(worlds, 1, 1 << 31))
        mode = checked_autoreset(autoreset_mode)
        num_envs = batch.sessions
        self.batch = batch
        self.reward, self.accounts = reward, accounts
        self._rewarded = plain(allocate_state(reward, num_envs))
        self.num_envs, self.render_mode = num_envs, None
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.autoreset_mode = mode  # TorchRL reads it here, as gymnasium's own batches have it
        self.layout, self.observation_kind = layout, observation
        by_part = layout.space
        self.single_observation_space = layout.box if observation == "features" else by_part
        self.single_action_space = single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(single_action_space, num_envs)
        # The last observations: a masked reset returns them again for the other sessions.
        self._shown = {name: np.zeros((num_envs, *(space.shape or ())), space.dtype) for name, space in by_part.items()}
        self._arguments = ", ".join(map(str, (type(self).__name__, num_envs, *arguments, max_episode_steps, worlds, mode.value)))
        self._progress = Progress(self.action_space, self.reset_options)
        self._max_steps, self._few_worlds = max_episode_steps, worlds
        self._done = np.zeros(num_envs, bool)

    @abstractmethod
    def _refuse_options(self, **options: Any) -> None:
        """Reject an unknown value of a reset option before any state changes."""

    @abstractmethod
    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        """Start a session on world `seed`."""

    def _after_reset(self, rows: NDArray[np.int64]) -> None:
        """Prepare all sessions that have just been started."""

    @abstractmethod
    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Apply actions; actions of sessions not in `rows` are ignored.

        Raises:
            ValueError: an action of one of `rows` is not valid now.
        """

    def _repeat_action(self, rows: NDArray[np.int64]) -> None:
        """Let the action of `rows` set one more decision."""

    @abstractmethod
    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        """Update the observations of `rows` in `shown`, by part. Several threads do so in parallel, each with its own rows."""

    @abstractmethod
    def _worlds(self) -> dict[str, NDArray[Any]]:
        """Return the identity of the worlds of all sessions, by name, (num_envs,) each."""

    @abstractmethod
    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return the outcomes of finished sessions, by name, (num_envs,) each."""

    def _paid(self) -> dict[str, NDArray[np.float64]]:
        """Return what each session has paid in its call so far, by the name in infos, (num_envs,) each; here nothing has costs."""
        return {}

    @abstractmethod
    def draw(self, axes: Any, row: int) -> None:
        """Draw one session on matplotlib axes."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """Start new calls.

        Args:
            seed: session i plays world ``seed + i`` of the split (or ``seed[i]``), then worlds derived from it. None: continue these. Of
                several kinds of worlds, world s has kind ``s`` modulo their number.
            options: reset_mask (num_envs,) bool selects the sessions to reset. Other options restrict the worlds, see docs/envs.md.

        Returns:
            Observations of all sessions, and infos that name the sampled worlds: `seed`, and `pair` and `stratum`, or `kind`.

        Raises:
            ClosedEnvironmentError: after `close`.
            ValueError: a seed, a mask or an option is not allowed.
        """
        self._require_open("reset")
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        rows = np.arange(self.num_envs) if mask is None else np.flatnonzero(checked_mask(mask, self.num_envs))
        for name in options:
            one_of("option of reset", name, ("reset_mask", *self.reset_options))
        self._refuse_options(**options)
        seeds = checked_seeds(seed, self.num_envs)
        super().reset(seed=seed if isinstance(seed, int) else None)
        for row in rows.tolist():
            self._progress.seed(row, seeds[row], self.np_random)
        infos = self._begin_calls(rows, self._shown, **options)
        return self._last_observations(), infos

    @property
    def has_begun(self) -> bool:
        """Return True if every session has been reset at least once."""
        return bool((self._progress.episodes >= 0).all())

    def _begin_calls(self, rows: NDArray[np.int64], fresh: dict[str, NDArray[Any]], **options: Any) -> dict[str, Any]:
        """Start new calls in `rows`, write their first observations into `fresh`, and return infos that name their worlds."""
        seeds, begun = np.zeros(self.num_envs, np.uint64), np.zeros(self.num_envs, bool)
        for row in rows:
            seed = self._progress.begin(row, options)
            seed = seed if self._few_worlds is None else seed % self._few_worlds
            self._reset_row(row, seed, **options)
            seeds[row], begun[row] = seed, True
            begin_row(self.reward, self._rewarded, self.accounts, row)
        self._progress.drop_past()
        self._after_reset(rows)
        self._done[rows] = False
        self.batch.shards.each(partial(self._begin_shard, fresh), rows)
        return _masked({"seed": seeds, **self._worlds()}, begun)

    def _begin_shard(self, fresh: dict[str, NDArray[Any]], rows: NDArray[np.int64]) -> None:
        self.batch.advance(rows)
        self._write_observations(rows, self._shown)
        for name, value in self._shown.items():
            fresh[name][rows] = value[rows]

    def step(self, actions: NDArray[Any]) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play every session to its next decision; `cost` in infos is what it has paid in between, where an environment has costs.

        Raises:
            ClosedEnvironmentError: after `close`.
            ResetNeeded: before the first reset or, with autoreset disabled, for a session that is done.
            ValueError: an action outside the space.
        """
        self._require_open("step")
        mode = self.metadata["autoreset_mode"]
        waiting = self._progress.episodes < 0
        if waiting.any() or (mode is AutoresetMode.DISABLED and self._done.any()):
            raise ResetNeeded(f"sessions {np.flatnonzero(waiting | self._done).tolist()} must be reset before they are stepped")
        starting = np.flatnonzero(self._done)
        running = np.flatnonzero(~self._done)
        self._decide(checked_actions(actions, self.action_space), running)
        rewards, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        observations, fresh = self._allocate_observations()
        before = self._paid()
        self.batch.shards.each(partial(self._step_shard, rewards, truncated, fresh), running)
        costs = {name: paid - before[name] for name, paid in self._paid().items()}
        played = ~self._done
        infos = self._begin_calls(starting, fresh) if len(starting) else {}
        if truncated.any():
            infos = _joined(_masked(self._outcomes(), truncated), infos)
        done = np.flatnonzero(truncated)
        if mode is AutoresetMode.SAME_STEP and len(done):
            infos = {
                "final_obs": self._objects(observations, done),
                "_final_obs": truncated.copy(),
                "final_info": infos | _masked(costs, truncated),
                "_final_info": truncated.copy(),
            } | self._begin_calls(done, fresh)
            played &= ~truncated
        else:
            self._done = truncated.copy()
        return observations, rewards, np.zeros(self.num_envs, bool), truncated, infos | _masked(costs, played)

    def _require_open(self, call: str) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{call} after close; make another environment")

    def _decide(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        self.apply_actions(actions, rows)
        self._progress.decide(actions)

    def _step_shard(
        self, rewards: NDArray[np.float64], truncated: NDArray[np.bool_], fresh: dict[str, NDArray[Any]], rows: NDArray[np.int64]
    ) -> None:
        """Do the whole step for the sessions of one thread, so that threads synchronise once per step."""
        self.batch.advance(rows)
        write_rewards(self.reward, self._rewarded, self.accounts, rows, rewards)
        under_way = rows
        more = np.zeros_like(rewards) if self.holds > 1 else rewards
        for _ in range(self.holds - 1):
            under_way = under_way[self.batch.why[under_way] != DONE]
            self._repeat_action(under_way)
            self.batch.advance(under_way)
            write_rewards(self.reward, self._rewarded, self.accounts, under_way, more)
            rewards[under_way] += more[under_way]
        steps = self._progress.steps
        steps[rows] += 1
        truncated[rows] = self.batch.why[rows] == DONE
        if self._max_steps is not None:
            truncated[rows] |= steps[rows] >= self._max_steps
        self._write_observations(rows, self._shown)
        between = slice(rows[0], rows[-1] + 1)  # other rows in this slice belong to this thread too; they are started and observed later
        for name, value in self._shown.items():
            fresh[name][between] = value[between]

    def _allocate_observations(self) -> tuple[Any, dict[str, NDArray[Any]]]:
        """Return new observations in the form of their space, and views of their parts."""
        if self.observation_kind == "features":
            flat = np.empty((self.num_envs, len(self.layout.features)), np.float32)
            return flat, self.layout.split(flat)
        by_part = {name: np.empty_like(value) for name, value in self._shown.items()}
        return by_part, by_part

    def _last_observations(self) -> Any:
        """Return a copy of the last observations of all sessions."""
        observations, fresh = self._allocate_observations()
        for name, value in self._shown.items():
            fresh[name][...] = value
        return observations

    def _objects(self, observations: Any, done: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return copies of the last observations of the sessions that are done, as gymnasium's object array."""
        last = np.full(self.num_envs, None, dtype=object)
        for row in done:
            last[row] = {k: v[row].copy() for k, v in observations.items()} if isinstance(observations, dict) else observations[row].copy()
        return last


def _masked(values: dict[str, NDArray[Any]], rows: NDArray[np.bool_]) -> dict[str, Any]:
    """Return infos with the values of `rows` only, with gymnasium's masks."""
    infos: dict[str, Any] = {name: np.where(rows, value, np.zeros_like(value)) for name, value in values.items()}
    return infos | {f"_{name}": rows.copy() for name in values}


def _joined(infos: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Return the merged infos of two sets of sessions."""
    joined = others | infos
    for name in [name for name in others if name in infos and not name.startswith("_")]:
        joined[name] = np.where(others[f"_{name}"], others[name], infos[name])
        joined[f"_{name}"] = others[f"_{name}"] | infos[f"_{name}"]
    return joined
