"""Names for what a result follows from: the code, and a system's classes, parameters and weights."""

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

_ROOMS = ("network", "predictors", "baselines", "envs", "agents", "leaderboard")  # whose code can show in a result
LEFT_OUT = tuple(
    f"leaderboard/{name}"
    for name in (
        "bench/", "decision_value/", "forecasts/", "headroom/", "oracles/", "page/", "reproduce/", "scores/", "sending/", "statistics/",
        "truth/", "board.py", "details.py", "figure.py", "gate.py", "notes.py", "report.py", "table.py",
    )
)  # fmt: skip
"""Of these rooms, what only reads results, or makes others: no cell follows from it."""


@cache
def code_hash() -> str:
    """Sixteen hex digits of every source file that a result can follow from, and of the versions underneath."""
    home = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(repr((platform.python_version(), np.__version__, numba.__version__)).encode())
    for room in _ROOMS:
        for source in sorted((home / room).rglob("*.py")):
            name = source.relative_to(home).as_posix()
            if not name.startswith(LEFT_OUT):
                digest.update(name.encode() + b"\0")
                digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def described(value: Any) -> str:
    """A text that two values share only if they are equal: classes by module and name, arrays and bytes by their hash.

    Raises:
        TypeError: something whose content cannot be told.
    """
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    if isinstance(value, bytes):
        return f"bytes {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return f"array {value.dtype.str} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"{_named(type(value))}({', '.join(map(described, value))})"
    if callable(value) and hasattr(value, "__qualname__"):
        return _named(value)
    raise TypeError(f"a system holds {value!r}; allowed: tuples of numbers, texts, bytes, arrays of numbers, and functions of a module")


def _named(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
