"""Shortcuts around numba that save time to compile, where its version is known; elsewhere numba compiles as it does for everybody.

All that is here rests on private names of numba, which may change with any release. With another version, or with VCGYM_COMPILER=numba,
nothing of it is imported: the results are the same, but kernels are compiled anew in each process, take more time to compile, and count
references.

The shortcuts: compiled code is kept on disk (`disk_cache`); a kernel is optimised once and inlined into others without machine code of its
own (`lean_compiler`); a kernel that allocates nothing counts no references. Also, an error of numba is one line.
"""

import os
from typing import Any

import numba

from vcgym.network.kernels.compiling.announcement import announce_unknown

KNOWN = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""Versions of numba that these shortcuts were tested with."""
VERSION = numba.__version__.rpartition(".")[0]
CUTS = VERSION in KNOWN and os.environ.get("VCGYM_COMPILER", "") != "numba" and not numba.config.DISABLE_JIT
"""True if the shortcuts are taken."""

if CUTS:
    from vcgym.network.kernels.compiling.disk_cache import DiskCache
    from vcgym.network.kernels.compiling.lean_compiler import OPTIONS
    from vcgym.network.kernels.compiling.not_compiled import in_one_line
elif VERSION not in KNOWN:
    announce_unknown(numba.__version__, KNOWN)


def options_of(allocates: bool, inlined: bool) -> dict[str, Any]:
    """Return numba's options for a function.

    Args:
        allocates: it may allocate arrays, or call a function that does.
        inlined: it is inlined into compiled functions that call it.
    """
    return {"_nrt": allocates, "forceinline": inlined, **OPTIONS} if CUTS else {}


def shorten(compiled: Any, options: dict[str, Any]) -> None:
    """Give a compiled function its disk cache and a second form, which other kernels call; each is compiled when it is first needed.

    Args:
        compiled: numba's dispatcher of the function, updated.
        options: its options, from `options_of`.
    """
    if CUTS:
        inlined: Any = numba.njit(nogil=True, no_cpython_wrapper=True, **options)(compiled.py_func)
        compiled.get_call_template, compiled.get_overload = inlined.get_call_template, inlined.get_overload
        compiled._cache, inlined._cache = DiskCache(compiled.py_func), DiskCache(compiled.py_func, "-inlined")
        for form in (compiled, inlined):
            form.compile = form._cache.turns.giving_back(form.compile)
        compiled._compile_for_args = in_one_line(compiled._compile_for_args)
