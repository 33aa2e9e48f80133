"""Prefetching: load the memory for the next slot of a call while other calls are played.

Calls played in parallel are far apart in memory and together larger than any cache. A slot touches about twenty cache lines of its call:
the headers of its parts, at fixed addresses, and ring entries, whose indices are in the headers. So headers are prefetched two calls ahead
and ring entries one call ahead.
"""

from vcgym.envs.call.paths.feed import RECORDS
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.prefetch import prefetch
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.in_flight import SLOTS

_LINE = 64


def beginnings(call_dtype):
    """Return the byte offsets of the cache lines with the scalars of a call's parts (the headers)."""
    lines = set()
    for dtype, start in _parts(call_dtype, 0):
        lines |= {(start + dtype.fields[name][1]) // _LINE * _LINE for name in dtype.names if not dtype.fields[name][0].subdtype}
    return tuple(sorted(lines))


def _parts(dtype, start):
    yield dtype, start
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        if inner.names:
            yield from _parts(inner, start + offset)


def ring(call_dtype, part, name):
    """Return the byte offset of a ring in a call's part, and the size of its entries."""
    inner, offset = call_dtype.fields[part][:2]
    of_ring, within = inner.fields[name][:2]
    return offset + within, of_ring.base.itemsize * (of_ring.shape[1] if len(of_ring.shape) > 1 else 1)


@kernel
def ask_for_beginnings(calls, s, lines):
    """Prefetch the headers of call `s`: the lines of `beginnings`."""
    for line in lines:
        prefetch(calls, s, line)


@kernel
def ask_for_places(calls, tables, s, by_slot, feed_rows, delay_us):
    """Prefetch the entries that a call touches next in rings by slot, feed, player and world; its headers must be cached.

    `by_slot` has (offset, entry size) in bytes of each ring that is indexed by slot, `feed_rows` those of the ring of the feed; `delay_us`,
    int32 (blocks, sessions, paths, BLOCK_SLOTS), are the delays of the loaded blocks.
    """
    call = calls[s]
    index = call.slot & (SLOTS - 1)
    for first, width in by_slot:
        prefetch(calls, s, first + index * width)
    prefetch(calls, s, feed_rows[0] + (call.feed.written & (RECORDS - 1)) * feed_rows[1])
    prefetch(tables.player.clock, s, 0)
    prefetch(tables.player.awaited, s, (call.slot & (tables.player.awaited.shape[1] - 1)) * 4)
    block = min(call.slot // BLOCK_SLOTS - call.block, delay_us.shape[0] - 1)
    prefetch(delay_us[block], s, (call.to_sender.latest * BLOCK_SLOTS + call.slot % BLOCK_SLOTS) * 4)


@kernel
def ask_for_records(calls, s, feed_rows):
    """Prefetch the next records that the location of call `s` may read; its headers must be cached."""
    read = calls[s].feed.read
    for ahead in range(2):
        prefetch(calls, s, feed_rows[0] + ((read + ahead) & (RECORDS - 1)) * feed_rows[1])
