"""Range checks of parameters, made before any work starts."""

import enum
from typing import Any, NamedTuple

import numpy as np


def require_within(params: NamedTuple, **ranges: tuple[float, float]) -> None:
    """Check each named field of `params` against its closed range, and each enum or bool field against its members.

    Raises:
        TypeError: a field is not a number.
        ValueError: a number is NaN or outside its range, or a choice is not a member.
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
    """Check that a value is among the allowed ones.

    Raises:
        ValueError: it is not; the message names the field, the value and the allowed values.
    """
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")
