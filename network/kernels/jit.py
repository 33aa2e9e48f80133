"""The project's only decorators for compiled functions.

Compiled code is kept on disk (`vcgym.network.kernels.compiling.disk_cache`), and a compiler of our own does less for the same code
(`vcgym.network.kernels.compiling.lean_compiler`). With VCGYM_COMPILER=numba, or a numba that it does not know, numba's compiles.
"""

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import is_jitted

from vcgym.network.kernels.compiling.disk_cache import DiskCache
from vcgym.network.kernels.compiling.not_compiled import in_one_line
from vcgym.network.kernels.compiling.sources import reread

try:
    if os.environ.get("VCGYM_COMPILER") == "numba":
        raise ImportError
    from vcgym.network.kernels.compiling.lean_compiler import LEAN, add_inlined_form
except ImportError:
    LEAN = {}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, releasing the GIL, with IEEE arithmetic (no fastmath).

    A kernel works on memory that its caller owns: it neither allocates nor keeps arrays, so numba need not count references. Counting costs
    an atomic operation per array and call, many times the work on one packet. Kernels are inlined into each other, so none calls itself.
    Several threads may run one kernel on disjoint sessions. With ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.

    Kernels name arguments alike: `s` is the row, a session or a bottleneck; `which` or `rows` are several, int64 (n,), each once; `seed`
    and `key` are uint64, and `first_slot` is the first of a block of 10-ms slots. What ends in `_us` is in int64 microseconds. `params`,
    `rule`, `rate`, `order`, `reward` and `model` are parameters, `state` or NAME_state what belongs to them. Other records are named after
    their class. A record, or a NamedTuple of arrays, is updated in row `s` unless the docstring says that it is read.
    """
    return _compile(function, options_of(allocates=False, inlined=True))


def allocating_kernel(function: F) -> F:
    """Compile as `kernel` does, for a function that allocates arrays or calls one that does."""
    return _compile(function, options_of(allocates=True, inlined=False))


def options_of(allocates: bool, inlined: bool) -> dict[str, Any]:
    """Return numba's options for a function.

    Args:
        allocates: it may allocate arrays, or call a function that does.
        inlined: it is inlined into compiled functions that call it.
    """
    return {"_nrt": allocates, "forceinline": inlined, **LEAN}


def _compile(function: F, options: dict[str, Any]) -> F:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    if is_jitted(compiled):
        reread(function.__module__, Path(inspect.getfile(function)))
        DiskCache(function, "lean" if LEAN else "numba").serve(compiled)
        compiled._compile_for_args = in_one_line(compiled._compile_for_args)
        if LEAN:
            add_inlined_form(compiled, options)
    return compiled
