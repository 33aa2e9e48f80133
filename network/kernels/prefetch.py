"""Prefetching of memory: loading an uncached line takes longer than simulating a packet."""

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

_READ, _KEEP, _DATA = 0, 3, 1  # arguments of llvm.prefetch


def _prefetch_byte(typingctx: Any, array: Any, row: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of_array = context.make_array(array)(context, builder, arguments[0])
        start = cgutils.unpack_tuple(builder, of_array.strides)[0]
        offset = builder.add(builder.mul(arguments[1], start), arguments[2])
        address = builder.gep(builder.bitcast(of_array.data, cgutils.voidptr_t), [offset])
        how = [cgutils.int32_t(flag) for flag in (_READ, _KEEP, _DATA)]
        form = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t] + [cgutils.int32_t] * len(how))
        builder.call(cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0"), [address, *how])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _nothing(array: Any, row: int, byte: int) -> None:
    """Do nothing: without the JIT there is nothing to prefetch."""


# prefetch(array, row, byte): prefetch the cache line with that byte of row `row` along the first axis.
prefetch = _nothing if config.DISABLE_JIT else intrinsic(_prefetch_byte)
