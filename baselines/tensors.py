"""Tensors of a safetensors file, which may be somebody else's, as arrays."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.refusal import shown

_TYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
"""The types of the format that numpy has; bfloat16 and the floats of 8 bits and less are not among them."""


def tensors_of(path: Path, content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays in the content of a safetensors file by name; errors name `path`.

    Raises:
        ValueError: the content is no whole safetensors file, or numpy has no array of a tensor's type and shape.
    """
    try:
        found = deserialize(content)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be read: {shown(str(error))}; allowed: a whole safetensors file") from error
    for name, tensor in found:
        if tensor["dtype"] not in _TYPES:
            raise DataError(path, f"type of {shown(name)}", tensor["dtype"], ", ".join(_TYPES))
    try:
        return {name: np.frombuffer(one["data"], _TYPES[one["dtype"]]).reshape(one["shape"]) for name, one in found}
    except ValueError as error:
        raise DataError(path, "shape of a tensor", f"{type(error).__name__}: {error}", "that of an array of numpy") from error
