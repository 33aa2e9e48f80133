"""Validation of arrival lists for rules that run outside a call."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LOW, _HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def integers(name: str, values: ArrayLike, low: int = _LOW, high: int = _HIGH) -> NDArray[np.int64]:
    """Return `values` as int64 (n,).

    Raises:
        ValueError: `values` is not a list of integers, or one is outside [low, high].
    """
    numbers = np.asarray(values)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"{name} has shape {numbers.shape} and type {numbers.dtype}; allowed is a list of integers")
    if numbers.size and (numbers.min() < low or numbers.max() > high):
        raise ValueError(f"{name} is {numbers.min()} to {numbers.max()}; allowed range is [{low}, {high}]")
    return numbers.astype(np.int64)


def require_arrivals(name: str, values: NDArray[np.int64], arrived_us: NDArray[np.int64]) -> None:
    """Check that arrivals never decrease and have the shape of `values`.

    Raises:
        ValueError: they do not; the message names the first decrease, or both shapes.
    """
    if values.shape != arrived_us.shape:
        raise ValueError(f"{name} has shape {values.shape} and arrived_us {arrived_us.shape}; allowed are equal shapes")
    back = np.flatnonzero(np.diff(arrived_us) < 0)
    if back.size:
        before, value = arrived_us[back[0] : back[0] + 2]
        raise ValueError(f"arrived_us[{back[0] + 1}] is {value}; allowed is at least the entry before, {before}")
