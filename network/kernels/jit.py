"""One decorator for every compiled function, with a disk cache that cannot go stale.

numba keys a cached function by its own file only: editing a callee, or an overload picked by type, would leave the cached caller as it
was. So the cache folder is named by a hash of every source file that can end up inside a kernel.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config as numba_config

F = TypeVar("F", bound=Callable[..., Any])

_KERNEL_ROOMS = ("network", "predictors", "baselines", "envs", "leaderboard/oracles")


def _cache_folder() -> Path:
    home = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for room in _KERNEL_ROOMS:
        for source in sorted((home / room).rglob("*.py")):
            digest.update(source.relative_to(home).as_posix().encode())
            digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vcgym"
    return Path(base) / f"kernels-{digest.hexdigest()[:16]}"


CACHE_FOLDER = _cache_folder()


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, cached on disk, releasing the GIL, with IEEE arithmetic (no fastmath).

    A kernel works on memory that its caller owns: it neither allocates nor keeps arrays, so numba need not count references to them. That
    would cost an atomic operation for each array and call, many times the work on one packet. Kernels are inlined into each other.
    Several threads may run one kernel on disjoint sessions. With ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.
    """
    return _compile(function, forceinline=True, _nrt=False)


def allocating_kernel(function: F) -> F:
    """As `kernel`, for a function that makes arrays, or calls one that does."""
    return _compile(function, _nrt=True)


def _compile(function: F, **options: bool) -> F:
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        compiled: F = numba.njit(cache=True, nogil=True, **options)(function)
        return compiled
    finally:
        numba_config.CACHE_DIR = before
