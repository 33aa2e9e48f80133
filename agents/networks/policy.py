"""A trained agent as a policy: a set network with a compiled forward pass. Acting does not need torch."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.agents.networks.description import SetNetwork
from vcgym.agents.networks.forward import SetWeights, allocate_scratch, forward_rows, pack
from vcgym.agents.networks.observation import ObservedPart, count_items, item_part


def output_count(action_space: spaces.Space[Any]) -> int:
    """Return the number of network outputs for an action space: one per choice, or one per coordinate.

    Raises:
        ValueError: agents do not support the space.
    """
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.MultiDiscrete):
        return int(action_space.nvec.sum())
    if isinstance(action_space, spaces.Box) and len(action_space.shape) == 1 and np.issubdtype(action_space.dtype, np.floating):
        return int(action_space.shape[0])
    raise ValueError(f"action space is {action_space}; an agent's may be Discrete, MultiDiscrete, or a Box of floats with one axis")


@dataclass(frozen=True, eq=False)
class AgentPolicy:
    """Published or just trained agent; acts deterministically and without memory.

    An agent acts on any number of items, whatever number it was trained on; the length of an observation gives the number. The action of a
    session does not depend on the rest of the batch.

    Attributes:
        env_id: environment of its training.
        parts: parts of an observation in training.
        observation_space: space of one session in training.
        action_space: space of one session in training.
        network: description of its network.
        tensors: float32 weights and biases, by the names of ``network.tensor_shapes()``.
        training_decisions: number of decisions in training.
        squashed: true: tanh squashes outputs into a Box, as in SAC; false: outputs are clipped to it.
    """

    env_id: str
    parts: tuple[ObservedPart, ...]
    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    network: SetNetwork
    tensors: dict[str, NDArray[np.float32]]
    training_decisions: int = 0
    squashed: bool = False

    reads = "features"

    @cached_property
    def weights(self) -> SetWeights:
        """Weights for the compiled forward pass."""
        return pack(self.network, self.tensors)

    def predict(
        self, observation: NDArray[Any], state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Choose the most probable action of each session.

        Args:
            observation: (sessions, features), or (features,) for one session.
            state: returned unchanged.
            episode_start: ignored.
            deterministic: ignored: the agent is always deterministic.

        Returns:
            Actions of shape (sessions, *action shape), or one action for one session; and `state`.

        Raises:
            ValueError: the observation has a wrong shape or a non-finite value.
        """
        rows = np.asarray(observation)
        batched = rows.ndim == 2
        rows = np.atleast_2d(rows)
        if rows.ndim != 2 or not self._fits(rows.shape[1]):
            raise ValueError(f"observation has shape {np.shape(observation)}; {self.env_id} gives (sessions, {self._expected()})")
        if not np.isfinite(rows).all():
            raise ValueError(f"observation holds {rows[~np.isfinite(rows)][0]}; allowed: finite values")
        actions = self._actions(self.outputs(rows), self._count_items(rows.shape[1]))
        return (actions if batched else actions[0]), state

    def outputs(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the outputs of the network (sessions, outputs) for features (sessions, features).

        Raises:
            ValueError: an output is not finite.
        """
        items = self._count_items(rows.shape[1])
        out = np.empty((len(rows), self.network.output_count(items)))
        try:
            forward_rows(self.weights, np.ascontiguousarray(rows, np.float64), items, allocate_scratch(self.weights, items), out)
        except ZeroDivisionError as error:
            raise ValueError("the width of the lags is 0; allowed: weights of which every output is finite") from error
        if not np.isfinite(out).all():
            raise ValueError(f"an output is {out[~np.isfinite(out)][0]}; allowed: weights of which every output is finite")
        return out

    def _count_items(self, features: int) -> int:
        return (features - self.network.context) // self.network.items.width if self.network.items else 0

    def _fits(self, features: int) -> bool:
        rest = features - self.network.context
        return rest > 0 and rest % self.network.items.width == 0 if self.network.items else rest == 0

    def _expected(self) -> str:
        of_items = item_part(self.parts)
        return f"{len(of_items.features)} * {of_items.name} + {self.network.context}" if of_items else str(self.network.context)

    def _actions(self, outputs: NDArray[np.float64], items: int) -> NDArray[Any]:
        if isinstance(self.action_space, spaces.Discrete):
            return outputs.argmax(axis=1)
        of_items = item_part(self.parts)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            widths = [items, *self.action_space.nvec[1:]] if of_items else self.action_space.nvec
            choices = np.split(outputs, np.cumsum(widths)[:-1], axis=1)
            return np.stack([choice.argmax(axis=1) for choice in choices], axis=1)
        assert isinstance(self.action_space, spaces.Box)
        ends, trained = (self.action_space.low, self.action_space.high), count_items(self.parts)
        low, high = (np.concatenate([np.repeat(end[:1], items), end[trained:]]) for end in ends)
        if self.squashed:
            return (low + 0.5 * (np.tanh(outputs) + 1.0) * (high - low)).astype(self.action_space.dtype)
        return np.clip(outputs, low, high).astype(self.action_space.dtype)
