"""Validation of arguments, seeds, masks and actions before any state changes."""

from typing import Any, TypeGuard

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray


def require_whole(**counts: tuple[Any, int, int]) -> None:
    """Check that each named value is an integer within [minimum, maximum].

    Raises:
        ValueError: one is not; the message names argument, value and range.
    """
    for name, (value, low, high) in counts.items():
        if not _is_whole(value) or not low <= value <= high:
            raise ValueError(f"{name} = {value!r}: allowed are integers from {low} to {high}")


def is_number(value: Any) -> bool:
    """Return True for an integer or a float, including NumPy's, but not for a bool."""
    return isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require_number(name: str, value: Any, low: float, high: float) -> None:
    """Check that a value is a number within [low, high].

    Raises:
        ValueError: one is not; the message names argument, value and range.
    """
    if not is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} = {value!r}: allowed are numbers from {low:g} to {high:g}")


def checked_autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    """Return gymnasium's autoreset mode by name (NEXT_STEP) or value (NextStep).

    Raises:
        ValueError: the mode does not exist.
    """
    named = {name: one for one in AutoresetMode for name in (one, one.name, one.value)}
    if mode not in named:
        raise ValueError(f"autoreset_mode = {mode!r}: allowed are {', '.join(AutoresetMode.__members__)}")
    return named[mode]


def checked_seeds(seed: int | list[int | None] | None, sessions: int) -> list[int | None]:
    """Return a seed for each session: from a list, or consecutive ones from an integer.

    Raises:
        ValueError: the number of seeds is wrong, or a seed is not an integer that fits in 64 bits.
    """
    seeds = seed if isinstance(seed, list) else [int(seed) + i if _is_whole(seed) else seed for i in range(sessions)]
    if len(seeds) != sessions:
        raise ValueError(f"seed has length {len(seeds)}: allowed is {sessions}, one per session")
    for given in seeds:
        if given is not None and not (_is_whole(given) and 0 <= given < 1 << 64):
            raise ValueError(f"seed = {given!r}: allowed are integers from 0 to 2**64 - 1")
    return seeds


def checked_mask(mask: Any, sessions: int) -> NDArray[np.bool_]:
    """Return a mask of sessions to reset.

    Raises:
        ValueError: wrong shape or type, or no session is selected.
    """
    if not isinstance(mask, np.ndarray) or mask.shape != (sessions,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(f"reset_mask = {mask!r}: allowed is a bool array of shape ({sessions},) with at least one True")
    return mask


def checked_actions(actions: Any, space: spaces.Space[Any]) -> NDArray[Any]:
    """Return actions of the batched space as an array.

    Raises:
        ValueError: an action outside the space.
    """
    actions = np.asarray(actions)
    # A float in place of an index, even NaN, would be truncated silently.
    same_kind = np.can_cast(actions.dtype, space.dtype or actions.dtype, "same_kind")
    if not same_kind or not space.contains(actions.astype(space.dtype, copy=False)):
        raise ValueError(f"action {actions!r} of {actions.dtype}: allowed are values of {space}")
    return actions
