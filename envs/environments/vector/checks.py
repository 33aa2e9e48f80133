"""Validation of seeds, masks and actions before any state changes."""

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.network.kernels.ranges import is_whole


class ActionError(ValueError):
    """Error of an action outside the space."""

    def __init__(self, actions: NDArray[Any], space: spaces.Space[Any]) -> None:
        super().__init__(f"action {actions!r} of {actions.dtype}: allowed are values of {space}")


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
    seeds = seed if isinstance(seed, list) else [int(seed) + i if is_whole(seed) else seed for i in range(sessions)]
    if len(seeds) != sessions:
        raise ValueError(f"seed has length {len(seeds)}: allowed is {sessions}, one per session")
    for given in seeds:
        if given is not None and not (is_whole(given) and 0 <= given < 1 << 64):
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
        ActionError: an action outside the space.
    """
    actions = np.asarray(actions)
    # A float in place of an index, even NaN, would be truncated silently.
    same_kind = np.can_cast(actions.dtype, space.dtype or actions.dtype, "same_kind")
    if not same_kind or not space.contains(actions.astype(space.dtype, copy=False)):
        raise ActionError(actions, space)
    return actions


def checked_alternatives(actions: Any, space: spaces.Space[Any]) -> NDArray[Any]:
    """Return alternative actions (alternatives, ...), each of `space`, as an array.

    Raises:
        ValueError: wrong shape, or an action outside the space.
    """
    actions, shape = np.asarray(actions), space.shape or ()
    if actions.ndim != 1 + len(shape) or actions.shape[1:] != shape or not len(actions):
        allowed = ", ".join(("alternatives", *map(str, shape)))
        raise ValueError(f"actions of branch have shape {actions.shape}: allowed is ({allowed}), with at least one alternative")
    return np.stack([checked_actions(one, space) for one in actions])
