"""Turns of processes: each kernel is compiled by one process at a time, and those that waited load what it has kept.

A turn is an advisory lock (flock) on a file next to the compiled code. Kernels do not call themselves, so a process that waits for a kernel
holds only callers of it, and no two wait for each other. A turn is an economy, not a need: where files cannot be locked, and after
`LONGEST_WAIT_S`, a process compiles the kernel itself.
"""

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

LONGEST_WAIT_S = 120.0
"""Longest wait for one kernel, some ten times what the largest takes to compile on a busy machine."""
_POLL_S = 0.02


class KernelTurns(threading.local):
    """The turns that a thread has taken for one compiled form of a function, and has not yet given back."""

    def __init__(self) -> None:
        self._taken = ExitStack()

    def giving_back(self, compile_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return `compile_one`, numba's method of a dispatcher, such that its turn ends with it, also by an error."""

        def compile_and_give_back(signature: Any) -> Any:
            with ExitStack() as self._taken:
                return compile_one(signature)

        return compile_and_give_back

    def take(self, path: Path) -> None:
        """Wait for the turn of one kernel; at once if nobody has it.

        Args:
            path: the file to lock, made if need be and removed afterwards.
        """
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._taken.enter_context(_locked(path))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        until = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            fcntl.flock(file, fcntl.LOCK_UN)  # not by closing alone: a forked process may hold the file too
