"""What depends on the class of a rule alone, as a constant inside compiled loops.

A jitted function passed as an argument would never be found in the disk cache, and a flag in the parameters could not switch code off while
compiling. The class of a NamedTuple can do both.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import types
from numba.extending import overload

T = TypeVar("T", int, bool)


def constant_by_type(of_class: Callable[[type], T]) -> Callable[[Any], T]:
    """A function of parameters that answers ``of_class(type(params))``, in Python as inside kernels.

    Args:
        of_class: may raise KeyError for a class it does not know; inside kernels that is a TypingError.
    """

    def by_type(params: Any) -> T:
        return of_class(type(params))

    @overload(by_type)
    def choose(params):
        if not isinstance(params, types.BaseNamedTuple):
            return None
        try:
            constant = of_class(params.instance_class)
        except KeyError:
            return None
        return lambda params: constant

    return by_type
