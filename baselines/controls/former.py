"""Former words for controls, such as router for path. They work for one release and say what to type."""

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from vcgym.baselines.controls.control import FORMER

F = TypeVar("F", bound=Callable[..., Any])


def renamed(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return `given` with controls by their names in place of former words.

    Args:
        given: values by control or by other names.
        where: what has them, for the warning.

    Raises:
        ValueError: a control is given by both words.
    """
    former = [word for word in given if word in FORMER]
    if twice := [word for word in former if FORMER[word] in given]:
        raise ValueError(f"{where} has {twice[0]} and {FORMER[twice[0]]}: allowed is {FORMER[twice[0]]} alone")
    for word in former:
        warnings.warn(f"{where}: write {FORMER[word]} in place of {word}, which works for this release", FutureWarning, stacklevel=3)
    return {str(FORMER.get(word, word)): value for word, value in given.items()}


def takes_former_words(function: F) -> F:
    """Let a function take former words as names of its arguments."""

    @functools.wraps(function)
    def renaming(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **renamed(kwargs, function.__qualname__.removesuffix(".__init__")))

    return renaming  # type: ignore[return-value]
