"""A short row of numbers on the stack of a kernel: without allocation, private to each thread.

A kernel allocates nothing (`vcgym.network.kernels.jit`), and numba has no stack arrays; this module provides one.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

SCRATCH = 64  # numbers

_CACHE_LINE = 64  # bytes


def scratch() -> NDArray[np.float32]:
    """Return an uninitialised (64,) float32 array. In a kernel it lives until the calling function returns: never return it."""
    return np.empty(SCRATCH, np.float32)


@type_callable(scratch)
def _type_scratch(context: Any) -> Any:
    return lambda: types.Array(types.float32, 1, "C")


@lower_builtin(scratch)
def _lower_scratch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    # Lowered in the caller's body, so the caller owns the memory; in its entry block, so a loop allocates it once.
    memory = cgutils.alloca_once(builder, context.get_value_type(types.float32), size=SCRATCH)
    memory.align = _CACHE_LINE
    array = make_array(signature.return_type)(context, builder)
    count, width = context.get_constant(types.intp, SCRATCH), context.get_constant(types.intp, np.float32().itemsize)
    populate_array(array, data=memory, shape=[count], strides=[width], itemsize=width, meminfo=None)
    return array._getvalue()
