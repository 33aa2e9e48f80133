"""From a submission's folder to a policy: card, weights, and for ONNX a trial, in this order; each step refuses before the next begins."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.export import AgentCard, agent_from
from vcgym.agents.networks.policy import tensor_shapes
from vcgym.envs.call.features.path import CALL_WIDTH, PATH_WIDTH
from vcgym.envs.faces.actions import LEVELS
from vcgym.leaderboard.evaluation.published import Policy, PublishedAgent
from vcgym.leaderboard.submissions.card import SubmissionCard, parse_card
from vcgym.leaderboard.submissions.folder import CARD, ONNX, SAFETENSORS, RefusedError, read_files
from vcgym.leaderboard.submissions.onnx_model import checked_model, numbers_held
from vcgym.leaderboard.submissions.onnx_session import decide, open_session
from vcgym.leaderboard.submissions.trial import tried

_HEADER_BYTES = 1 << 16  # of a safetensors file


class OnnxPolicy:
    """A checked model as a policy of `vcgym/Call-v0`, session by session; the runtime is opened at the first decision.

    Args:
        model: what `checked_model` returned.
        training_decisions: how many the card says it was trained on.
    """

    reads = "features"

    def __init__(self, model: bytes, training_decisions: int) -> None:
        self._model, self.training_decisions = model, training_decisions
        self.parameters = numbers_held(model)

    @cached_property
    def _session(self) -> Any:
        return open_session(self._model)

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Actions (sessions, 2): path and level of each session, for features (sessions, features); `state` is handed back."""
        border = observation.shape[1] - CALL_WIDTH
        rows = np.asarray(observation, np.float32)
        return np.array([decide(self._session, row[:border].reshape(-1, PATH_WIDTH), row[border:]) for row in rows]), state


def take(folder: Path, paths: Iterable[int]) -> tuple[SubmissionCard, PublishedAgent]:
    """Check a submission, and hold it as it is now.

    Args:
        folder: as docs/submissions.md says.
        paths: how many paths the worlds have that it is to play; an ONNX model is tried with each.

    Raises:
        RefusedError: naming the file, what is wrong, and what is allowed.
    """
    files = read_files(folder)
    card = parse_card(folder / CARD, files[CARD])
    policy_of(files, folder)
    if card.onnx is not None:
        tried(folder / ONNX, checked_model(folder / ONNX, files[ONNX]), paths)
    return card, PublishedAgent(load, tuple(sorted(files.items())))


def load(folder: Path) -> Policy:
    """The policy in the folder of a submission that `take` has checked."""
    return policy_of(read_files(folder), folder)


def policy_of(files: dict[str, bytes], folder: Path) -> Policy:
    """The policy that the content of a folder describes; a model is read, not run.

    Raises:
        RefusedError: naming the file, what is wrong, and what is allowed.
    """
    card = parse_card(folder / CARD, files[CARD])
    if card.weights not in files:
        raise RefusedError(folder, f"holds {sorted(files)}", f"the weights {card.weights} that the card names")
    if card.onnx is not None:
        return OnnxPolicy(checked_model(folder / ONNX, files[ONNX]), card.onnx.steps)
    assert card.agent is not None  # the card says so
    _refuse_other_size(folder / SAFETENSORS, card.agent, files[SAFETENSORS])
    try:
        return agent_from(card.agent, files[SAFETENSORS], folder)
    except ValueError as error:
        found = str(error).removeprefix(f"{folder / SAFETENSORS}: ")
        raise RefusedError(folder / SAFETENSORS, found, "the tensors of PathNet (vcgym.agents.networks), finite float32") from error


def _refuse_other_size(path: Path, card: AgentCard, weights: bytes) -> None:
    """Before anything of it is read: the header's length, and as many bytes behind it as the card's network has."""
    shapes = tensor_shapes(card.paths * PATH_WIDTH + CALL_WIDTH, card.paths, card.hidden, card.paths + LEVELS)
    wanted = 4 * sum(int(np.prod(shape)) for shape in shapes.values())
    header = int.from_bytes(weights[:8], "little") if len(weights) >= 8 else 0
    if not 2 <= header <= _HEADER_BYTES or len(weights) != 8 + header + wanted:
        allowed = f"a header of at most {_HEADER_BYTES} and {wanted} bytes of tensors, as the card's network has"
        raise RefusedError(path, f"has {len(weights)} bytes and a header of {header}", allowed)
