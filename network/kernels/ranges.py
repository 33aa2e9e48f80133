"""Range checks of parameters, made before any work starts."""

import enum
from typing import Annotated, Any, TypeGuard, get_origin

import numpy as np


def require_within(params: tuple[Any, ...], **ranges: tuple[float, float]) -> None:
    """Check each number of `params` against its closed range, each enum or bool against its members, and the parameters within.

    The range of a number is that of its annotation, ``Annotated[float, (low, high)]``; such an integer must be one.

    Args:
        params: parameters.
        ranges: range of a field that depends on others.

    Raises:
        TypeError: a field is not a number, or not a whole one.
        ValueError: a number is NaN or outside its range, or a choice is not a member.
    """
    kinds: dict[str, Any] = type(params).__annotations__
    for field, kind in kinds.items():
        is_choice = kind is bool or (isinstance(kind, type) and issubclass(kind, enum.Enum))
        if is_choice and not isinstance(getattr(params, field), kind):
            allowed = "True, False" if kind is bool else ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
            raise ValueError(f"{type(params).__name__}.{field} is {getattr(params, field)!r}; allowed: {allowed}")
    declared = {field: kind.__metadata__[0] for field, kind in kinds.items() if get_origin(kind) is Annotated}
    for field, (low, high) in {**declared, **ranges}.items():
        value: Any = getattr(params, field)
        where = f"{type(params).__name__}.{field}"
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer):
            raise TypeError(f"{where} is {value!r}, a {type(value).__name__}; allowed is a number in [{low}, {high}]")
        if field in declared and kinds[field].__origin__ is int and not is_whole(value):
            raise TypeError(f"{where} is {value!r}, a {type(value).__name__}; allowed are whole numbers")
        if not low <= value <= high:
            raise ValueError(f"{where} is {value!r}; allowed range is [{low}, {high}]")
    for value in params:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            require_within(value)


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Check that a value is among the allowed ones.

    Raises:
        ValueError: it is not; the message names the field, the value and the allowed values.
    """
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")


def require_whole(**counts: tuple[Any, int, int]) -> None:
    """Check that each named value is an integer within [minimum, maximum].

    Raises:
        ValueError: one is not; the message names argument, value and range.
    """
    for name, (value, low, high) in counts.items():
        if not is_whole(value) or not low <= value <= high:
            raise ValueError(f"{name} = {value!r}: allowed are integers from {low} to {high}")


def is_number(value: Any) -> bool:
    """Return True for an integer or a float, including NumPy's, but not for a bool."""
    return isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)


def is_whole(value: Any) -> TypeGuard[int]:
    """Return True for an integer, including NumPy's, but not for a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require_number(name: str, value: Any, low: float, high: float) -> None:
    """Check that a value is a number within [low, high].

    Raises:
        ValueError: one is not; the message names argument, value and range.
    """
    if not is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} = {value!r}: allowed are numbers from {low:g} to {high:g}")
