"""Loading of a submission's folder as a policy: two plain files, the card, then the weights. Each step must pass before the next begins.

The files are of bounded size and read once, without following links or unpacking archives.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from vcgym.agents.evaluation.play import Policy
from vcgym.agents.published.export import AgentCard, agent_from
from vcgym.leaderboard.evaluation.own.bandwidth_model import BandwidthModel
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError, checked_model
from vcgym.leaderboard.evaluation.published import LOGGED_FORM, RATE_ENV, PublishedAgent, held_by
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain
from vcgym.network.traces.refusal import shown
from vcgym.submissions.card import SubmissionCard, parse_card
from vcgym.submissions.onnx_policy import OnnxPolicy

CARD, SAFETENSORS, ONNX = "card.json", "agent.safetensors", "policy.onnx"
MAX_BYTES = {CARD: 1 << 18, SAFETENSORS: 1 << 24, ONNX: 1 << 24}
_HEADER_BYTES = 1 << 16  # maximum header size of a safetensors file


class Submission(NamedTuple):
    """Submission after reading and checks.

    Attributes:
        card: card of the submission.
        policy: policy of the submission.
        published: content of its folder, which any process can load.
    """

    card: SubmissionCard
    policy: Policy
    published: PublishedAgent


def read(folder: Path) -> Submission:
    """Read and check a submission; a model is not run.

    Raises:
        RefusedError: naming the file, what is wrong, and what is allowed.
    """
    return _checked(read_files(folder), folder)


def read_files(folder: Path) -> dict[str, bytes]:
    """Read card and weights, and return their content by file name.

    Raises:
        RefusedError: it is not a folder (archives are not unpacked), contains anything but a card and one weights file, or a file is a
            link, a device, too large or unreadable.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise RefusedError(folder, "is not a folder", "a folder, not a link to one; archives are not unpacked")
    names = sorted(os.listdir(folder))
    weights = [name for name in names if name in (SAFETENSORS, ONNX)]
    for name in names:
        if name not in MAX_BYTES:
            raise RefusedError(folder / ascii(name)[1:-1], "does not belong here", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    if CARD not in names or len(weights) != 1:
        raise RefusedError(folder, f"holds {names}", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    return {name: _plain(folder / name, MAX_BYTES[name]) for name in names}


def _plain(path: Path, max_bytes: int) -> bytes:
    try:
        return read_plain(path, max_bytes, links=False)
    except DataError as error:
        _, where, value, allowed = error.args
        raise RefusedError(path, f"{where} is {shown(value)}", allowed) from error


def load(files: Mapping[str, bytes]) -> Policy:
    """Return the policy of a submission that `vcgym.submissions.accept.take` has checked, from its files by name."""
    return _checked(files, Path()).policy


def _checked(files: Mapping[str, bytes], folder: Path) -> Submission:
    card = parse_card(folder / CARD, files[CARD])
    if card.weights not in files:
        raise RefusedError(folder, f"holds {sorted(files)}", f"the weights {card.weights} that the card names")
    published = PublishedAgent(load, tuple(sorted(files.items())), arguments=tuple(LOGGED_FORM.items()))
    if card.bandwidth is not None:
        published = replace(published, env=RATE_ENV, arguments=tuple(sorted(BandwidthModel.options.items())))
    for control, name in (card.onnx.rules if card.onnx else {}).items():
        published = replace(published, arguments=(*published.arguments, *held_by(control, name)), rule=name)
    return Submission(card, _policy(card, files[card.weights], folder), published)


def _policy(card: SubmissionCard, weights: bytes, folder: Path) -> Policy:
    if card.onnx is not None:
        return OnnxPolicy(checked_model(folder / ONNX, weights), card.onnx.interface, card.onnx.steps)
    if card.bandwidth is not None:
        return BandwidthModel(folder / ONNX, weights, card.bandwidth.steps)
    assert card.agent is not None  # follows from the card's check
    path = folder / SAFETENSORS
    _refuse_other_size(path, card.agent, weights)
    try:
        return agent_from(card.agent, weights, folder)
    except ValueError as error:
        found = str(error).removeprefix(str(path)).lstrip(": ")
        raise RefusedError(path, found, "the tensors of the network on the card, finite float32") from error


def _refuse_other_size(path: Path, card: AgentCard, weights: bytes) -> None:
    """Raise RefusedError, before anything is parsed, unless header and tensors have the sizes of the card's network."""
    wanted = 4 * sum(math.prod(shape) for shape in card.network.tensor_shapes().values())
    header = int.from_bytes(weights[:8], "little") if len(weights) >= 8 else 0
    if not 2 <= header <= _HEADER_BYTES or len(weights) != 8 + header + wanted:
        allowed = f"a header of at most {_HEADER_BYTES} and {wanted} bytes of tensors, as the card's network has"
        raise RefusedError(path, f"has {len(weights)} bytes and a header of {header}", allowed)
