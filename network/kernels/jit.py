"""The project's only decorators for compiled functions.

How they are compiled is in `vcgym.network.kernels.compiling.shortcuts`; the results do not depend on it.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import is_jitted

from vcgym.network.kernels.compiling.shortcuts import options_of, shorten
from vcgym.network.kernels.compiling.sources import reread

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, releasing the GIL, with IEEE arithmetic (no fastmath).

    A kernel works on memory that its caller owns: it neither allocates nor keeps arrays, so numba need not count references. Counting costs
    an atomic operation per array and call, many times the work on one packet. Kernels are inlined into each other, so none calls itself.
    Several threads may run one kernel on disjoint sessions. With ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.
    """
    return _compile(function, options_of(allocates=False, inlined=True))


def allocating_kernel(function: F) -> F:
    """Compile as `kernel` does, for a function that allocates arrays or calls one that does."""
    return _compile(function, options_of(allocates=True, inlined=False))


def _compile(function: F, options: dict[str, Any]) -> F:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    if is_jitted(compiled):
        reread(function.__module__, Path(inspect.getfile(function)))
        shorten(compiled, options)
    return compiled
