"""The runtime of a checked model: one session, one thread, one decision at a time, so that results do not depend on other calls.

Inputs are `paths` float32 (1, P, PATH_WIDTH) and `call` float32 (1, CALL_WIDTH); outputs are `path_scores` (1, P) and `level_scores`
(1, LEVELS), without that of a control set by a rule. The highest score is the action. A recurrent model takes each state tensor as a
further float32 input (1, *shape), zero at the start of a call, and returns it as `next_NAME`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import LOGGED
from vcgym.envs.environments.vector.actions import action_counts
from vcgym.leaderboard.evaluation.own.onnx_model import open_model

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


def open_session(model: bytes, interface: Interface) -> Any:
    """Open a session of the runtime on one thread.

    Raises:
        ValueError: inputs or outputs differ from the interface.
    """
    axes = {"paths": 3, "call": 2} | dict.fromkeys(interface.scores, 2)
    return open_model(model, axes | {f"{prefix}{name}": 1 + len(shape) for name, shape in interface.state.items() for prefix in ("", NEXT)})


def decide(
    session: Any, interface: Interface, paths: NDArray[np.float32], call: NDArray[np.float32], state: Mapping[str, NDArray[np.float32]]
) -> tuple[list[int], dict[str, NDArray[np.float32]]]:
    """Decide once for one session.

    Args:
        session: session opened for the interface.
        interface: interface of the model.
        paths: (P, PATH_WIDTH) features.
        call: (CALL_WIDTH,) features.
        state: state of the previous decision, or of the start.

    Returns:
        The index of the highest score of each score output, and the state.

    Raises:
        ValueError: an output has a wrong shape or a non-finite value.
    """
    shapes = {OUTPUTS[control]: (1, count) for control, count in action_counts(OUTPUTS, len(paths)).items()}
    wanted = {name: shapes[name] for name in interface.scores} | {f"{NEXT}{name}": value.shape for name, value in state.items()}
    given = session.run(list(wanted), {"paths": paths[None], "call": call[None], **state})
    for (name, shape), value in zip(wanted.items(), given, strict=True):
        if value.shape != shape:
            raise ValueError(f"{name} has shape {value.shape}; allowed: {shape}")
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds {value[~np.isfinite(value)][0]}; allowed: finite values")
    scores, remembered = given[: len(interface.scores)], given[len(interface.scores) :]
    return [int(score.argmax()) for score in scores], dict(zip(state, remembered, strict=True))
