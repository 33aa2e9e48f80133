"""Records of a state, each declared by one class: its fields, their types and their initial values.

Example:
    >>> @record
    ... class Arm:
    ...     sent_us: int = -1  # before the first packet
    ...     mean_ms: float = 0.0
    >>> records(Arm, 2).sent_us.tolist()
    [-1, -1]
"""

from inspect import get_annotations
from typing import Any, TypeVar

import numpy as np
from numba import config

from vcgym.network.kernels.jit import kernel

R = TypeVar("R", bound=type)


def record(cls: R) -> R:
    """Declare a record: `records` makes arrays of it, and its numpy type is `cls.dtype`.

    A field is an `int`, a `float` or of a type of numpy; an array is annotated as one, with its values; a record within it by its class.

    Raises:
        TypeError: a field has the name of an attribute of numpy, which plain Python would read in its place.
    """
    values: dict[str, Any] = {}
    for name, kind in get_annotations(cls).items():
        if hasattr(np.recarray, name) or hasattr(np.record, name):
            raise TypeError(f"field {name} of {cls.__name__}: allowed are names that no attribute of numpy's records has")
        value = vars(kind)["initial"][0] if "initial" in vars(kind) else getattr(cls, name)
        values[name] = np.asarray(value, None if isinstance(value, np.ndarray | np.record) else kind)
    dtype = np.dtype((np.record, [(name, value.dtype, value.shape) for name, value in values.items()]))
    initial = np.zeros(1, dtype).view(np.recarray)
    for name, value in values.items():
        initial[name] = value
    cls.dtype, cls.initial = dtype, initial  # type: ignore[attr-defined]
    return cls


def records(kind: Any, *shape: int) -> Any:
    """Return a new array of records with their initial values, or of zeros of a type of numpy."""
    rows = np.zeros(shape, kind)
    if hasattr(kind, "initial"):
        rows[...] = kind.initial[0]
    return rows.view(np.recarray) if rows.dtype.names else rows


def plain(state: Any) -> Any:
    """Return a state, an array or a NamedTuple of states, with plain arrays that share its memory, for compiled loops.

    numba takes 2 us to recognise an array of records as an argument, and 0.3 for a plain one. Without the JIT, where loops read fields as
    attributes, the state is returned as it is.
    """
    if config.DISABLE_JIT:
        return state
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*map(plain, state))
    return state.view(np.ndarray) if isinstance(state, np.recarray) else state


@kernel
def restart(rows, initial):
    """Set each of `rows` to the one record of `initial`, which is an argument, as a constant would take seconds to compile."""
    for i in range(rows.size):
        rows[i] = initial[0]
