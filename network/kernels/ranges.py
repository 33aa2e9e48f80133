"""Refuses parameters that lie outside what formulas and kernels allow, before any work starts."""

import enum
from typing import Any, NamedTuple

import numpy as np


def require_within(params: NamedTuple, **ranges: tuple[float, float]) -> None:
    """Check each named field of `params` against its closed range, and each choice against its members.

    Raises:
        TypeError: a field is not a number.
        ValueError: a field is not a number of its range, as NaN never is, or a choice is none of its members.
    """
    for field, kind in type(params).__annotations__.items():
        is_choice = kind is bool or (isinstance(kind, type) and issubclass(kind, enum.Enum))
        if is_choice and not isinstance(getattr(params, field), kind):
            allowed = "True, False" if kind is bool else ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
            raise ValueError(f"{type(params).__name__}.{field} is {getattr(params, field)!r}; allowed: {allowed}")
    for field, (low, high) in ranges.items():
        value: Any = getattr(params, field)
        where = f"{type(params).__name__}.{field}"
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer):
            raise TypeError(f"{where} is {value!r}, a {type(value).__name__}; allowed is a number in [{low}, {high}]")
        if not low <= value <= high:
            raise ValueError(f"{where} is {value!r}; allowed range is [{low}, {high}]")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones.

    Raises:
        ValueError: naming the field, the value and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")
