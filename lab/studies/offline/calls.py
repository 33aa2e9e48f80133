"""Calls logged with the probability of each decision, and the policies that make such decisions.

A policy here maps observations (n, features) to the probabilities (n, actions) of all actions; an action of several choices counts as one,
numbered in C order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.envs.call.features.relative import SLOT, SLOT_WIDTH
from vcgym.envs.faces.vector.actions import HEADROOMS_US

Policy = Callable[[NDArray[np.float32]], NDArray[np.float64]]


class Logged(NamedTuple):
    """Calls of equal length: n calls, T decisions each."""

    observations: NDArray[np.float32]  # (n, T + 1, features)
    actions: NDArray[np.int64]  # (n, T)
    rewards: NDArray[np.float64]  # (n, T)
    propensities: NDArray[np.float64]  # (n, T), probability of the action taken, in (0, 1]
    ratings: NDArray[np.float64]  # (n,), R of the call


def choices_of(space: spaces.Space[Any]) -> tuple[int, ...]:
    """Return the sizes of the choices of a discrete action.

    Raises:
        ValueError: the actions are not discrete.
    """
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(space.nvec.tolist())
    raise ValueError(f"action space is {space}; allowed: Discrete or MultiDiscrete, as of Relay, Playout and Call with action='relative'")


class EpsilonSoft(NamedTuple):
    """Behaviour policy over the slots of Call with ``action="relative"``: a greedy rule, with probability `epsilon` any action instead.

    Attributes:
        epsilon: share of uniform draws, 0 to 1.
        margin: the path with the smallest expected delay is taken if it is faster by more than this: x / sqrt(1 + x^2) of
            x = delay / 20 ms, 0 to 1; 0.6 is 15 ms.
        headroom: index of the headroom that the rule keeps, 0 to 7.
    """

    epsilon: float = 0.4
    margin: float = 0.6
    headroom: int = 4

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probabilities of all actions, (n, 2 * 8)."""
        faster = observations[:, SLOT_WIDTH + SLOT.above_used] < -self.margin
        levels = len(HEADROOMS_US)
        found = np.full((len(observations), 2 * levels), self.epsilon / (2 * levels))
        found[np.arange(len(found)), levels * faster + self.headroom] += 1.0 - self.epsilon
        return found


def log_calls(policy: Policy, calls: int, seed: int, env_id: str = "vcgym/Call-v0", **options: Any) -> Logged:
    """Play one call in each of `calls` worlds from `seed` on, and log every decision with its probability.

    Args:
        policy: the policy, from whose probabilities the actions are drawn.
        calls: number of calls.
        seed: first world; it also determines the draws.
        env_id: environment whose calls all have the same number of decisions.
        options: its arguments.
    """
    envs = gymnasium.make_vec(env_id, num_envs=calls, autoreset_mode="DISABLED", **options)
    sizes, random = choices_of(envs.single_action_space), np.random.default_rng(seed)
    observation, infos = envs.reset(seed=seed)
    seen, actions, rewards, propensities, done = [observation], [], [], [], False
    while not done:
        probabilities = policy(observation)
        drawn = (probabilities.cumsum(axis=1) < random.random(calls)[:, None]).sum(axis=1).clip(max=probabilities.shape[1] - 1)
        choices = np.stack(np.unravel_index(drawn, sizes), axis=1)
        observation, reward, _, truncated, infos = envs.step(choices.reshape(envs.action_space.shape))
        seen.append(observation)
        actions.append(drawn)
        rewards.append(reward)
        propensities.append(probabilities[np.arange(calls), drawn])
        done = bool(truncated.any())
    envs.close()
    seen_, actions_, rewards_, propensities_ = (np.stack(part, axis=1) for part in (seen, actions, rewards, propensities))
    return Logged(seen_, actions_, rewards_, propensities_, infos["rating"])
