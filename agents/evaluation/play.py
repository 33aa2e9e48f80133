"""The one function that plays a policy through its `predict` on a vector environment."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray


class Policy(Protocol):
    """Policy that acts on a batch of sessions (Stable-Baselines3's `predict`); `reads` names the observation it takes.

    One whose attribute `masked` is true also gets `action_masks`, where the environment has them.
    """

    reads: str

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return the actions of a batch of sessions, and the policy's state."""


class Playthrough(NamedTuple):
    """Result of one episode of each session.

    Attributes:
        returns: (sessions,) float64, sum of rewards.
        decision_us: mean wall-clock duration of `predict` per session and step.
    """

    returns: NDArray[np.float64]
    decision_us: float


def play(
    policy: Policy,
    envs: Any,
    observation: Any,
    on_done: Callable[[NDArray[np.int64]], None] | None = None,
    on_progress: Callable[[int, str], None] | None = None,
) -> Playthrough:
    """Play one episode of each session; episodes after an automatic restart are not counted.

    Args:
        policy: policy, which acts deterministically.
        envs: a vector environment, just reset.
        observation: observation that the reset returned.
        on_done: called after each step with the sessions whose episode ended in it.
        on_progress: called after each step with the number of decisions of a session, and the mean return so far.

    Raises:
        ValueError: sessions end after different numbers of steps in an environment without automatic restart.
    """
    returns, running = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
    episode_start, state = running.copy(), None
    deciding_s, steps = 0.0, 0
    masks_of = getattr(envs.unwrapped, "action_masks", None) if getattr(policy, "masked", False) else None
    while running.any():
        before_s = time.perf_counter()
        masks = {} if masks_of is None else {"action_masks": masks_of()}
        actions, state = policy.predict(observation, state, episode_start, deterministic=True, **masks)
        deciding_s, steps = deciding_s + time.perf_counter() - before_s, steps + 1
        observation, rewards, terminated, truncated, _ = envs.step(actions)
        returns[running] += rewards[running]
        episode_start = np.logical_or(terminated, truncated)
        if on_done is not None and (running & episode_start).any():
            on_done(np.flatnonzero(running & episode_start))
        running &= ~episode_start
        if on_progress is not None:
            on_progress(steps, f"return {returns.mean():.3f}")
        if envs.metadata.get("autoreset_mode") is AutoresetMode.DISABLED and episode_start.any() and running.any():
            raise ValueError(f"{envs}: sessions end after different numbers of decisions; allowed: environments where all have as many")
    return Playthrough(returns, 1e6 * deciding_s / (steps * envs.num_envs))
