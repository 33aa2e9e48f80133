"""When numba compiles, or loads what it compiled: for limits and measurements of that time."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from numba.core.event import Event, Listener, install_listener


class _Told(Listener):
    """Listener of numba's lock, which a thread takes again for each callee."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell, self._depth = tell, 0

    def on_start(self, event: Event) -> None:
        self._depth += 1
        if self._depth == 1:
            self._tell(True)

    def on_end(self, event: Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._tell(False)


def compiling_told(tell: Callable[[bool], None]) -> AbstractContextManager[None]:
    """Return a context in which `tell` is called with True when numba begins to compile, and with False when it is done."""
    found: AbstractContextManager[None] = install_listener("numba:compiler_lock", _Told(tell))
    return found
