"""Learned systems as files: weights, and a card that documents their training.

    NAME.json          card, study, and the rule of each control, without its arrays
    NAME.safetensors   the arrays, each by control and parameter, such as path.prices

The shipped systems are in data/zoo; `vcgym train` writes such a pair of files for each seed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import field_validator
from safetensors.numpy import save

from vcgym.baselines.configured import mapping_of
from vcgym.baselines.tensors import tensors_of
from vcgym.network.traces.cards import Carded, DataError, canonical_sha256, parse_carded
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain, replace_file
from vcgym.network.traces.refusal import shown

CARD, WEIGHTS = ".json", ".safetensors"
LEARNED = "learned"
"""Name of the pair of files in the folder of a seed."""
MAX_BYTES = 1 << 20  # limit on the weights
MAX_PACKETS = 10**15  # of a training: 300,000 years of a call


class LearnedFile(Carded):
    """Content of NAME.json.

    Attributes:
        study: learner, worlds, budget (with its packets) and seed, and the scores on training and validation worlds.
        system: the rules and the pacing, as in conf/systems.yaml, without arrays.
        weights_sha256: SHA-256 of NAME.safetensors.
    """

    study: dict[str, Any]
    system: dict[str, Any]
    weights_sha256: str

    @field_validator("study")
    @classmethod
    def _has_budget(cls, study: dict[str, Any]) -> dict[str, Any]:
        budget = study.get("budget")
        packets = budget.get("packets") if isinstance(budget, dict) else None
        if type(packets) is not int or not 0 <= packets <= MAX_PACKETS:
            raise ValueError(f"study.budget.packets is {shown(packets)}; allowed: 0 to {MAX_PACKETS}")
        return study

    @property
    def trained_packets(self) -> int:
        """Packets played in training."""
        return int(self.study["budget"]["packets"])


class LearnedSystem(NamedTuple):
    """A learned system: its card with the study, and the rules as mappings, including arrays."""

    file: LearnedFile
    rules: dict[str, Any]


def read_learned(folder: Path, name: str) -> LearnedSystem:
    """Read a learned system.

    Raises:
        DataError: a file is missing, malformed or too large, or does not match its card.
    """
    card, weights = folder / f"{name}{CARD}", folder / f"{name}{WEIGHTS}"
    found = parse_carded(LearnedFile, str(card), read_plain(card, MAX_JSON_BYTES).decode(errors="replace"))
    content = read_plain(weights, MAX_BYTES)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != found.weights_sha256:
        raise DataError(str(weights), "sha256", sha256, f"{found.weights_sha256}, as the card says")
    rules = {control: dict(rule) if isinstance(rule, Mapping) else rule for control, rule in found.system.items()}
    for key, tensor in tensors_of(weights, content).items():
        control, _, parameter = key.partition(".")
        if not isinstance(rules.get(control), dict) or parameter in rules[control]:
            raise DataError(str(weights), "tensor", key, f"arrays of {', '.join(sorted(rules))}, each by control and parameter")
        rules[control][parameter] = tensor
    return LearnedSystem(found, rules)


def save_learned(
    folder: Path, name: str, rules: Mapping[str, Any], study: Mapping[str, Any], description: str, source: str, pacing: float | None = None
) -> None:  # fmt: skip
    """Write a learned system.

    Args:
        folder: folder of the two files; the card is written last.
        name: name of the system.
        rules: parameters of the rule of each control, by control.
        study: see `LearnedFile`.
        description: one sentence for the card.
        source: training data of the weights.
        pacing: pacing factor of the rate; None: without one.
    """
    arrays = {
        f"{control}.{field}": np.ascontiguousarray(value)
        for control, params in rules.items()
        for field, value in params._asdict().items()
        if isinstance(value, np.ndarray)
    }
    weights = save(arrays)
    plain = {
        control: {key: value for key, value in mapping_of(params).items() if f"{control}.{key}" not in arrays}
        for control, params in rules.items()
    } | ({} if pacing is None else {"pacing": pacing})
    body = {"study": dict(study), "system": plain, "weights_sha256": hashlib.sha256(weights).hexdigest()}
    card = {
        "name": name, "description": description, "source": source, "licence": "MIT", "sha256": canonical_sha256(body), "kind": "fitted",
        "units": "those of the parameters' names",
    }  # fmt: skip
    replace_file(folder / f"{name}{WEIGHTS}", weights)
    replace_file(folder / f"{name}{CARD}", (json.dumps({"card": card, **body}, indent=1) + "\n").encode())
