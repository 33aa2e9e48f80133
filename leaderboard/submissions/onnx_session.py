"""The runtime of a checked model: one session, one thread, one decision at a time, so that results do not depend on other calls.

Inputs `paths` float32 (1, P, PATH_WIDTH) and `call` float32 (1, CALL_WIDTH), outputs `path_scores` (1, P) and `level_scores` (1, LEVELS):
the highest score is the action.
"""

from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from vcgym.envs.faces.vector.actions import LEVELS

INPUTS, OUTPUTS = ("paths", "call"), ("path_scores", "level_scores")


def open_session(model: bytes) -> Any:
    """Open a session of the runtime on one thread.

    Raises:
        ValueError: other inputs or outputs than those above.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = [(one.name, one.type, len(one.shape)) for one in (*session.get_inputs(), *session.get_outputs())]
    wanted = [(name, "tensor(float)", 3 if name == "paths" else 2) for name in (*INPUTS, *OUTPUTS)]
    if sorted(found) != sorted(wanted):
        raise ValueError(f"inputs and outputs (name, type, axes) are {found}; allowed: {wanted}")
    return session


def decide(session: Any, paths: NDArray[np.float32], call: NDArray[np.float32]) -> tuple[int, int]:
    """Return path and level for the features of one session, (P, PATH_WIDTH) and (CALL_WIDTH,).

    Raises:
        ValueError: scores of another shape, or a score that is not a number.
    """
    scores = session.run(list(OUTPUTS), {"paths": paths[None], "call": call[None]})
    for name, score, wanted in zip(OUTPUTS, scores, ((1, len(paths)), (1, LEVELS)), strict=True):
        if score.shape != wanted:
            raise ValueError(f"{name} has shape {score.shape}; allowed: {wanted}")
        if not np.isfinite(score).all():
            raise ValueError(f"{name} holds {score[~np.isfinite(score)][0]}; allowed: finite values")
    return int(scores[0].argmax()), int(scores[1].argmax())
