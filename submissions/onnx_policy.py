"""Policy of a checked model: one session of the runtime, one thread, one decision at a time, so that no result depends on other calls.

Inputs are `paths` float32 (1, P, PATH_WIDTH) and `call` float32 (1, CALL_WIDTH); outputs are `path_scores` (1, P) and `level_scores`
(1, LEVELS), without that of a control set by a rule. The highest score is the action. A recurrent model takes each state tensor as a
further float32 input (1, *shape), zero at the start of a call, and returns it as `next_NAME`.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import LOGGED
from vcgym.envs.call.features.call import CALL_WIDTH
from vcgym.envs.call.features.path import PATH_WIDTH
from vcgym.envs.environments.vector.actions import action_counts
from vcgym.leaderboard.evaluation.own.onnx_model import CheckedModel, open_model

INPUTS = ("paths", "call")
OUTPUTS = {control: f"{column}_scores" for column, control in LOGGED.items()}
"""Control -> output with the scores of its decisions."""
NEXT = "next_"  # prefix of the output state
PATHS = "paths"  # in a shape: the number of paths


class Interface(NamedTuple):
    """Names of the score outputs, and the shape of each state tensor without the session axis."""

    scores: tuple[str, ...]
    state: Mapping[str, tuple[int | str, ...]]

    def start(self, paths: int) -> dict[str, NDArray[np.float32]]:
        """Return the state at the start of a call over `paths` paths."""
        shapes = {name: [paths if length == PATHS else int(length) for length in shape] for name, shape in self.state.items()}
        return {name: np.zeros((1, *shape), np.float32) for name, shape in shapes.items()}


class OnnxPolicy:
    """Policy of `vcgym/Call-v1` with a checked model, session by session; the runtime is opened at the first decision.

    Args:
        model: checked model of the submission.
        interface: its inputs and outputs.
        steps: decisions in training.
    """

    reads = "features"

    def __init__(self, model: CheckedModel, interface: Interface, steps: int) -> None:
        self.model, self.interface, self.training_decisions, self.parameters = model, interface, steps, model.numbers

    @cached_property
    def _session(self) -> Any:
        scores, state = self.interface
        axes = {"paths": 3, "call": 2} | dict.fromkeys(scores, 2)
        axes |= {f"{prefix}{name}": 1 + len(shape) for name, shape in state.items() for prefix in ("", NEXT)}
        return open_model(self.model.content, axes)

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Decide for each session.

        Args:
            observation: (sessions, features).
            state: state returned by the previous decision, one entry per session; None starts every session.
            episode_start: (sessions,) bool, sessions that start; None: none, unless `state` is None.
            deterministic: ignored.

        Returns:
            Path and level of each session (sessions, 2), or the one control of the model (sessions,); and the state.

        Raises:
            ValueError: inputs or outputs differ from the interface, or an output holds a value that is not finite.
        """
        rows = np.asarray(observation, np.float32)
        border = rows.shape[1] - CALL_WIDTH
        starts = np.ones(len(rows), bool) if state is None else np.zeros(len(rows), bool) if episode_start is None else episode_start
        found = []
        for s, row in enumerate(rows):
            paths = row[:border].reshape(-1, PATH_WIDTH)
            before = self.interface.start(len(paths)) if starts[s] else state[s]
            found.append(self._decide(paths, row[border:], before))
        actions = np.array([action for action, _ in found])
        return actions if len(self.interface.scores) > 1 else actions[:, 0], [after for _, after in found]

    def _decide(
        self, paths: NDArray[np.float32], call: NDArray[np.float32], state: Mapping[str, NDArray[np.float32]]
    ) -> tuple[list[int], dict[str, NDArray[np.float32]]]:
        """Return the index of the highest score of each control, and the state; `paths` is (P, PATH_WIDTH), `call` (CALL_WIDTH,)."""
        shapes = {OUTPUTS[control]: (1, count) for control, count in action_counts(OUTPUTS, len(paths)).items()}
        wanted = {name: shapes[name] for name in self.interface.scores} | {f"{NEXT}{name}": value.shape for name, value in state.items()}
        given = self._session.run(list(wanted), {"paths": paths[None], "call": call[None], **state})
        for (name, shape), value in zip(wanted.items(), given, strict=True):
            if value.shape != shape:
                raise ValueError(f"{name} has shape {value.shape}; allowed: {shape}")
            if not np.isfinite(value).all():
                raise ValueError(f"{name} holds {value[~np.isfinite(value)][0]}; allowed: finite values")
        scores, remembered = given[: len(self.interface.scores)], given[len(self.interface.scores) :]
        return [int(score.argmax()) for score in scores], dict(zip(state, remembered, strict=True))
