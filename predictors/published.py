"""A published predictor: a folder with predictor.safetensors (the float32 arrays of `Network`) and predictor.json (their description).

Neither file can execute code: one is numbers with a JSON header, the other JSON. Both are fully checked before use.
"""

import functools
import hashlib
import importlib.resources
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from vcgym.network.traces.plain_file import read_plain, replace_file
from vcgym.network.traces.refusal import faults, one_line
from vcgym.predictors.mlp import Network, aligned, require_network

WEIGHTS = "predictor.safetensors"
CARD = "predictor.json"
SHIPPED = "predictor"  # folder of vcgym.data
LARGEST_BYTES = 1 << 18  # maximum size of either file; the arrays take 34,336 bytes, their header about a thousand

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Training(BaseModel):
    """Training data of a network and its test errors.

    Attributes:
        data_sha256: SHA-256 of the data set.
        modes: modes of the worlds in it.
        jitter: output of Algorithm 2 that was the second input: the lag, or the difference of its line 3. Rules use the lag.
        seed: seed of the training.
        rows: number of rows in the data set.
        metrics: test errors by name, with the unit in the name, such as rmse_ms.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    data_sha256: Sha256
    modes: Annotated[list[str], Field(min_length=1)]
    jitter: Literal["lag", "diff"]
    seed: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=1)]
    metrics: dict[str, FiniteFloat]


class PredictorCard(BaseModel):
    """Content of predictor.json; `publish` sets all fields except the training."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal[1] = 1
    inputs: tuple[Literal["transmit_delay_ms"], Literal["jitter_ms"]] = ("transmit_delay_ms", "jitter_ms")
    output: Literal["e2e_ms"] = "e2e_ms"
    weights_sha256: Sha256
    training: Training


def publish(folder: Path, network: Network, training: Training) -> None:
    """Write a network and its card to `folder`. The card is written last, so a process killed in between leaves nothing that loads.

    Raises:
        TypeError, ValueError: the network is invalid, see `require_network`.
        FileExistsError: the folder holds a predictor.
    """
    require_network(network)
    if (folder / CARD).exists():
        raise FileExistsError(f"{folder / CARD} exists already; nothing is overwritten")
    weights = save(dict(zip(Network._fields, map(np.ascontiguousarray, network), strict=True)))
    card = PredictorCard(weights_sha256=hashlib.sha256(weights).hexdigest(), training=training)
    replace_file(folder / WEIGHTS, weights)
    replace_file(folder / CARD, (card.model_dump_json(indent=2) + "\n").encode())


def read_card(folder: Path) -> PredictorCard:
    """Read and check predictor.json.

    Raises:
        ValueError: it is missing, too large or malformed; the message names file and field.
    """
    path = folder / CARD
    try:
        return PredictorCard.model_validate_json(read_plain(path, LARGEST_BYTES))
    except ValidationError as error:
        raise ValueError(one_line(f"{path} is no predictor's card: {faults(error)}")) from error


def load_network(folder: Path | str) -> Network:
    """Load a published network.

    Args:
        folder: folder that `publish` wrote.

    Raises:
        ValueError: a file is missing, too large, truncated or malformed; an array is missing, unexpected, of wrong type or shape, or not
            finite; the weights do not match the hash in the card. The message names file and field.
    """
    folder = Path(folder)
    card = read_card(folder)
    path = folder / WEIGHTS
    content = read_plain(path, LARGEST_BYTES)
    network = _network(path, content)
    found = hashlib.sha256(content).hexdigest()
    if found != card.weights_sha256:
        raise ValueError(f"{path}: SHA-256 is {found}, expected {card.weights_sha256}, the weights_sha256 of {folder / CARD}")
    return network


@functools.cache
def shipped_network() -> Network:
    """Load the network shipped with vcgym in data/predictor."""
    with importlib.resources.as_file(importlib.resources.files("vcgym.data").joinpath(SHIPPED)) as folder:
        return load_network(folder)


def _network(path: Path, content: bytes) -> Network:
    try:
        tensors: dict[str, Any] = dict(deserialize(content))
    except SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file, or part of one: {error}") from error
    if tensors.keys() != set(Network._fields):
        missing, others = sorted(set(Network._fields) - tensors.keys()), sorted(tensors.keys() - set(Network._fields))
        raise ValueError(f"{path} lacks {missing} and has {others} besides; allowed are {list(Network._fields)}")
    for name, tensor in tensors.items():
        if tensor["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is of type {tensor['dtype']}; allowed is F32")
    try:
        arrays = {name: np.frombuffer(tensor["data"], np.float32).reshape(tensor["shape"]) for name, tensor in tensors.items()}
        network = Network(**arrays)
        require_network(network)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return aligned(network)
