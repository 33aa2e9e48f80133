"""Behaviour policies of offline sets: rules that decide by the actions of an environment, mixtures of them, and one that explores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from vcgym.envs import name_of
from vcgym.envs.call.features.relative import SLOT, SLOT_WIDTH
from vcgym.envs.environments.vector.actions import HEADROOMS_US

EXPLORED = 0.3
"""Share of the decisions of the exploring policy that are any action."""


class Acting(Protocol):
    """A rule that decides from observations (sessions, features), with one action (sessions,) each."""

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.int64]: ...


class Greedy(NamedTuple):
    """Rule of Call: take the other path where it is expected to be faster by a margin, and hold a headroom above the newest delay.

    Attributes:
        margin: feature `above_used` of the other path, below minus which it is taken: x / sqrt(1 + x^2) of x = delay / 20 ms, 0 to 1; at 1
            the call stays on its path.
        headroom: index of `HEADROOMS_US`, 0 to 7.
    """

    margin: float
    headroom: int

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the actions of Call's relative form."""
        changes = observations[:, SLOT_WIDTH + SLOT.above_used] < -self.margin
        return len(HEADROOMS_US) * changes.astype(np.int64) + self.headroom


class Constant(NamedTuple):
    """Rule that is an action of its own: on Rate, which law drives."""

    action: int

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the action."""
        return np.full(len(observations), self.action)


@dataclass(frozen=True)
class Behaviour:
    """A behaviour policy, whose draws are those of the call: they do not depend on the batch.

    Attributes:
        rules: rules of which each call draws one, all as likely.
        explored: share of decisions that are any action instead, 0 to 1.
        actions: number of actions.
        seed: seed of the draws of the first session; the next ones count on.
    """

    rules: tuple[Acting, ...]
    explored: float
    actions: int
    seed: int

    reads = "features"

    def predict(
        self, observation: NDArray[Any], state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[NDArray[np.int64], Any]:
        """Return the actions of a batch of sessions, and the generators and rules of their calls; None at the start draws these."""
        if state is None:
            draws = [np.random.default_rng(self.seed + session) for session in range(len(observation))]
            state = draws, [int(draw.integers(len(self.rules))) for draw in draws]
        draws, drawn = state
        found = np.array([rule(observation) for rule in self.rules])[drawn, range(len(drawn))]
        chance, any_action = np.array([draw.random(2) for draw in draws]).T
        return np.where(chance < self.explored, (any_action * self.actions).astype(np.int64), found), state


# The first is the best of 24 on 100 training worlds. Margins of 9 ms and 41 ms, or no change; headrooms of 22, 13, 36 and 60 ms.
_CALL = tuple(Greedy(margin, headroom) for headroom in (3, 2, 4, 5) for margin in (0.4, 0.9, 1.0))
_RULES: dict[str, Callable[[spaces.Discrete], tuple[Acting, ...]]] = {
    "Call": lambda actions: _CALL,
    "Rate": lambda actions: tuple(Constant(action) for action in range(int(actions.n))),
}
BEHAVIOURS = ("rule", "mixture", "exploring")


def behaviour_of(name: str, envs: VectorEnv[Any, Any, Any], seed: int) -> Behaviour:
    """Return a behaviour policy of an environment: its first rule, a mixture of all, or the first with some decisions at random.

    Args:
        name: one of `BEHAVIOURS`.
        envs: the environment.
        seed: see `Behaviour`.

    Raises:
        ValueError: the environment has no rules, or another form of actions.
    """
    env_id, space = envs.spec.id if envs.spec else "", envs.single_action_space
    if name_of(env_id) not in _RULES or not isinstance(space, spaces.Discrete):
        allowed = " or ".join(f"vcgym/{one}-v1" for one in _RULES)
        raise ValueError(f"env.id is {env_id!r} with actions {space}; allowed: {allowed} with action=relative_discrete")
    rules = _RULES[name_of(env_id)](space)
    return Behaviour(rules if name == "mixture" else rules[:1], EXPLORED if name == "exploring" else 0.0, int(space.n), seed)
