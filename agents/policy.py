"""A trained agent as a policy: a small network, evaluated so that a session's action never depends on the batch it is in.

A matrix product of a numerical library may round a row differently in batches of another size. Here each output adds its inputs in
order, in double precision, so one session alone acts as it does among a thousand, with any number of threads.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from vcgym.network.jit import kernel

# Normalisation as in training: clipped to this many standard deviations, the variance raised by EPSILON.
CLIP_SD = 10.0
EPSILON = 1e-8
ACTIVATIONS = ("tanh", "relu")


@kernel
def _affine(inputs, weight, bias):
    outputs = np.empty((inputs.shape[0], weight.shape[0]))
    transposed = weight.T.copy()
    for s in range(inputs.shape[0]):
        for o in range(bias.shape[0]):
            outputs[s, o] = bias[o]
        for i in range(inputs.shape[1]):
            for o in range(bias.shape[0]):
                outputs[s, o] += inputs[s, i] * transposed[i, o]
    return outputs


@kernel
def _squash(values, tanh):
    for s in range(values.shape[0]):
        for o in range(values.shape[1]):
            values[s, o] = math.tanh(values[s, o]) if tanh else max(values[s, o], 0.0)


def output_count(action_space: spaces.Space) -> int:
    """Number of network outputs an action space needs: one per choice, or one per coordinate."""
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.MultiDiscrete):
        return int(action_space.nvec.sum())
    return math.prod(action_space.shape or ())


@dataclass(frozen=True, eq=False)
class AgentPolicy:
    """A published or just trained agent; acts deterministically and keeps no memory between decisions.

    Attributes:
        env_id: the environment it was trained for.
        observation_space: of one session.
        action_space: of one session.
        activation: "tanh" or "relu" between layers.
        mean: float64 (features,), of the observations seen in training.
        variance: float64 (features,), likewise.
        layers: (weight float32 (outputs, inputs), bias float32 (outputs,)) per layer, the last giving logits or action means.
    """

    env_id: str
    observation_space: spaces.Box
    action_space: spaces.Space
    activation: str
    mean: np.ndarray
    variance: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]

    reads = "features"

    def predict(
        self, observation: np.ndarray, state: Any = None, episode_start: np.ndarray | None = None, deterministic: bool = True
    ) -> tuple[np.ndarray, Any]:
        """Choose the most probable action of each session.

        Args:
            observation: (sessions, features), or (features,) for one session.
            state: handed back unchanged.
            episode_start: not needed.
            deterministic: the agent is deterministic whatever this says.

        Returns:
            Actions of shape (sessions, *action shape), or one action for one session; and `state`.

        Raises:
            ValueError: the observation has another shape, or a value that is not finite.
        """
        features = np.asarray(observation)
        shape = self.observation_space.shape
        if features.shape[-len(shape) :] != shape or features.ndim not in (len(shape), len(shape) + 1):
            raise ValueError(f"observation has shape {features.shape}; {self.env_id} gives (sessions, {', '.join(map(str, shape))})")
        rows = features.reshape(-1, math.prod(shape))
        if not np.isfinite(rows).all():
            raise ValueError(f"observation holds {rows[~np.isfinite(rows)][0]}; allowed: finite values")
        actions = self._actions(self.outputs(rows))
        return (actions if features.ndim > len(shape) else actions[0]), state

    def outputs(self, rows: np.ndarray) -> np.ndarray:
        """Network outputs float64 (sessions, outputs) for features (sessions, features): logits, or action means."""
        scaled = np.clip((rows - self.mean) / np.sqrt(self.variance + EPSILON), -CLIP_SD, CLIP_SD)
        values = scaled.astype(np.float32).astype(np.float64)
        for depth, (weight, bias) in enumerate(self.layers):
            values = _affine(values, weight, bias)
            if depth < len(self.layers) - 1:
                _squash(values, self.activation == "tanh")
        return values

    def _actions(self, outputs: np.ndarray) -> np.ndarray:
        if isinstance(self.action_space, spaces.Discrete):
            return outputs.argmax(axis=1)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            parts = np.split(outputs, np.cumsum(self.action_space.nvec)[:-1], axis=1)
            return np.stack([part.argmax(axis=1) for part in parts], axis=1)
        assert isinstance(self.action_space, spaces.Box)
        means = outputs.reshape(-1, *self.action_space.shape).astype(self.action_space.dtype)
        return np.clip(means, self.action_space.low, self.action_space.high)
