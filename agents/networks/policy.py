"""A trained agent as a policy: a small network, evaluated so that a session's action never depends on the batch it is in (layers.py).

A matrix product of a numerical library may round a row differently in batches of another size. Here each output adds its inputs in
order, in double precision, so one session alone acts as it does among a thousand, with any number of threads. No torch is needed to act.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.agents.networks.layers import affine, compress, squash
from vcgym.agents.networks.queue_policy import queue_outputs, queue_shapes
from vcgym.envs.call.features.path import CALL_FEATURES, CALL_WIDTH, PATH_FEATURES, path_width
from vcgym.envs.call.features.sender import PLACE_WIDTH
from vcgym.envs.faces.actions import LEVELS
from vcgym.network.kernels.jit import allocating_kernel

ACTIVATIONS = ("tanh", "relu")
WIDTH = 0.1  # of the places of levels, which lie between -1 and 1, before training
PEAK = [feature.name for feature in CALL_FEATURES].index("excess_peak_2s")
_COMMANDED = [feature.name for feature in PATH_FEATURES].index("commanded")


def output_count(action_space: spaces.Space[Any]) -> int:
    """Number of outputs an action space needs: one per choice, or one per coordinate.

    Raises:
        ValueError: an agent cannot act in that space.
    """
    if isinstance(action_space, spaces.Discrete):
        return int(action_space.n)
    if isinstance(action_space, spaces.MultiDiscrete):
        return int(action_space.nvec.sum())
    if isinstance(action_space, spaces.Box) and len(action_space.shape) == 1 and np.issubdtype(action_space.dtype, np.floating):
        return int(action_space.shape[0])
    raise ValueError(f"action space is {action_space}; an agent's may be Discrete, MultiDiscrete, or a Box of floats with one axis")


def ranks_levels(call: int, rest: int) -> bool:
    """Whether the outputs that score no path are the levels of a call: so many features of the call, so many outputs."""
    return (call, rest) == (CALL_WIDTH, LEVELS)


def tensor_shapes(features: int, paths: int, hidden: int, outputs: int, places: int = 0) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors of `vcgym.agents.networks.path_network.PathNet`, or with places of
    `vcgym.agents.networks.queue_network.QueueNet`.

    Args:
        features: length of an observation.
        paths: how many paths it describes.
        hidden: units per layer.
        outputs: see `output_count`.
        places: how many places of a queue it describes.

    Raises:
        ValueError: so many paths or places do not fit the observation or the outputs.
    """
    if places:
        return queue_shapes(features, places, hidden, outputs)
    width = path_width(features, paths)
    call, rest = features - paths * width, outputs - paths
    if call < 0 or rest < 0:
        most = min(features // width, outputs)
        raise ValueError(f"paths is {paths}; allowed: at most {most}, with {features} features and {outputs} outputs")
    layers = {"trunk0": (hidden, call + 3 * hidden * (paths > 0)), "trunk1": (hidden, hidden)}
    if paths:
        layers |= {"encode": (hidden, width + call), "score0": (hidden, 2 * hidden), "score1": (1, hidden)}
    if rest:
        layers["rest"] = (2 if ranks_levels(call, rest) else rest, hidden)
    shapes: dict[str, tuple[int, ...]] = {"habit.weight": (1, width)} if paths else {}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


@allocating_kernel
def _pool(encoded, observation, call, width, commanded):
    """[call, mean, maximum, and the commanded path's encoding] of each session; `encoded` (sessions * paths, hidden)."""
    sessions, features = call.shape
    paths, hidden = encoded.shape[0] // sessions, encoded.shape[1]
    out = np.zeros((sessions, features + 3 * hidden))
    for s in range(sessions):
        out[s, :features] = call[s]
        out[s, features + hidden : features + 2 * hidden] = -np.inf
        for p in range(paths):
            for h in range(hidden):
                value = encoded[s * paths + p, h]
                out[s, features + h] += value / paths
                out[s, features + hidden + h] = max(out[s, features + hidden + h], value)
                out[s, features + 2 * hidden + h] += value * observation[s, p * width + commanded]
    return out


@allocating_kernel
def _level_logits(observation, peak, rest):
    """Logits of the ordered levels from place and width, as in `vcgym.agents.networks.path_network`."""
    out = np.empty((observation.shape[0], LEVELS))
    for s in range(observation.shape[0]):
        usual = math.log10(max(10.0 * observation[s, peak], 1.0)) - 1.0
        width = WIDTH * math.exp(rest[s, 1])
        for i in range(LEVELS):
            place = -1.0 + 2.0 * i / (LEVELS - 1)
            out[s, i] = -0.5 * ((place - usual - rest[s, 0]) / width) ** 2
    return out


@dataclass(frozen=True, eq=False)
class AgentPolicy:
    """A published or just trained agent; acts deterministically and keeps no memory between decisions.

    Trained on one number of paths, or of places in a queue, it acts on any other: the observation says how many there are.

    Attributes:
        env_id: the environment it was trained for.
        observation_space: of one session, as in training.
        action_space: of one session, as in training.
        paths: how many paths an observation described in training; 0 if it described none.
        activation: "tanh" or "relu" between layers.
        tensors: float32 weights and biases of `vcgym.agents.networks.path_network.PathNet`, or of
        `vcgym.agents.networks.queue_network.QueueNet` with places, by
            their names there.
        training_decisions: how many it was trained on.
        places: how many places of a queue an observation described in training; 0 without a queue.
        squashed: outputs are squashed by tanh into a Box, as SAC has learned them; else cut to it.
    """

    env_id: str
    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    paths: int
    activation: str
    tensors: dict[str, NDArray[np.float32]]
    training_decisions: int = 0
    places: int = 0
    squashed: bool = False

    reads = "features"

    def predict(
        self, observation: NDArray[Any], state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
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
        rows = np.asarray(observation)
        batched = rows.ndim == 2
        rows = np.atleast_2d(rows)
        if rows.ndim != 2 or not self._fits(rows.shape[1]):
            raise ValueError(f"observation has shape {np.shape(observation)}; {self.env_id} gives (sessions, {self._wanted()})")
        if not np.isfinite(rows).all():
            raise ValueError(f"observation holds {rows[~np.isfinite(rows)][0]}; allowed: finite values")
        actions = self._actions(self.outputs(rows), self._count_in(rows.shape[1]))
        return (actions if batched else actions[0]), state

    @property
    def _many(self) -> int:
        """Paths or places that an observation described in training."""
        return self.paths or self.places

    @property
    def _width(self) -> int:
        return PLACE_WIDTH if self.places else path_width(int(self.observation_space.shape[0]), self.paths)

    @property
    def _call_width(self) -> int:
        return int(self.observation_space.shape[0]) - self._many * self._width

    def _count_in(self, features: int) -> int:
        return (features - self._call_width) // self._width if self._many else 0

    def _fits(self, features: int) -> bool:
        rest = features - self._call_width
        return rest == 0 if self._many == 0 else rest > 0 and rest % self._width == 0

    def _wanted(self) -> str:
        return f"{self._width} * {'places' if self.places else 'paths'} + {self._call_width}" if self._many else str(self._call_width)

    def outputs(self, rows: np.ndarray) -> NDArray[np.float64]:
        """Network outputs float64 for features (sessions, features): logits or means (sessions, paths + rest), or (sessions, 2 places)."""
        paths = self._count_in(rows.shape[1])
        raw = np.ascontiguousarray(rows, np.float64)
        if self.places:
            return queue_outputs(self.tensors, raw, paths, self.activation == "tanh")
        x = compress(raw)
        width = self._width
        border = paths * width
        call = np.ascontiguousarray(x[:, border:])
        encoded, pooled = np.zeros((0, 0)), call
        if paths:
            of_paths = x[:, :border].reshape(-1, width)
            encoded = self._layer("encode", np.concatenate([of_paths, np.repeat(call, paths, axis=0)], axis=1))
            pooled = _pool(encoded, raw, call, width, _COMMANDED)
        trunk = self._layer("trunk1", self._layer("trunk0", pooled))
        parts = []
        if paths:
            both = np.concatenate([encoded, np.repeat(trunk, paths, axis=0)], axis=1)
            score = self._linear("score1", self._layer("score0", both))
            habit = affine(raw[:, :border].reshape(-1, width).copy(), self.tensors["habit.weight"], np.zeros(1, np.float32))
            parts.append((score + habit).reshape(len(rows), paths))
        if "rest.weight" in self.tensors:
            rest = self._linear("rest", trunk)
            levels = ranks_levels(self._call_width, output_count(self.action_space) - self.paths)
            parts.append(_level_logits(raw, border + PEAK, rest) if levels else rest)
        return np.concatenate(parts, axis=1)

    def _linear(self, name: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs: NDArray[np.float64] = affine(inputs, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])
        return outputs

    def _layer(self, name: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs = self._linear(name, inputs)
        squash(outputs, self.activation == "tanh")
        return outputs

    def _actions(self, outputs: NDArray[np.float64], paths: int) -> np.ndarray:
        if isinstance(self.action_space, spaces.Discrete):
            return outputs.argmax(axis=1)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            widths = [*([paths] if self.paths else []), *self.action_space.nvec[1 if self.paths else 0 :]]
            parts = np.split(outputs, np.cumsum(widths)[:-1], axis=1)
            return np.stack([part.argmax(axis=1) for part in parts], axis=1)
        assert isinstance(self.action_space, spaces.Box)
        low, high = self.action_space.low, self.action_space.high
        low, high = (np.concatenate([np.repeat(end[:1], paths), end[self.paths :]]) for end in (low, high))
        if self.squashed:
            return (low + 0.5 * (np.tanh(outputs) + 1.0) * (high - low)).astype(self.action_space.dtype)
        return np.clip(outputs, low, high).astype(self.action_space.dtype)
