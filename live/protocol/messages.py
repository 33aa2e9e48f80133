"""Payloads of control datagrams: feedback, commands, levels and set-up. Times are microseconds of the call.

Feedback follows RFC 8888: one block per packet received since the last report, with its arrival time. A block has what a record of the
simulator has (`vcgym.baselines.records.Record`): kind, path, number, send time, arrival time, the receiver's lag, and late or not.
"""

import struct
from collections.abc import Sequence

from vcgym.baselines.protection.protect import DISTANCES
from vcgym.baselines.records import COPY, MEDIA, PROBE, Record
from vcgym.live.protocol.replay_window import AHEAD_US
from vcgym.network.kernels.slots import SLOT_US

MAX_BLOCKS = 32
MAX_LEAD_US = 2_000_000  # from the arrival of an announcement to slot 0, and back: clocks differ, and the way takes time
MAX_LEVEL_US = 30_000_000  # well below the capacity of the receiver's queue (41 s)

_BLOCK = struct.Struct("!BBHIQQQ")
_COMMAND = struct.Struct("!H")
_LEVEL = struct.Struct("!I")
_SETUP = struct.Struct("!Q")


def write_feedback(records: Sequence[Record]) -> bytes:
    """Return the blocks of at most MAX_BLOCKS records."""
    return b"".join(
        _BLOCK.pack(record.kind, record.late, record.path, record.packet, record.sent_us, record.arrived_us, record.lag_us)
        for record in records
    )


def read_feedback(payload: bytes, known_us: int, paths: int, packets: int) -> list[Record]:
    """Return the records of blocks that reached the router's location at `known_us`, in a call of `packets` slots over `paths` paths.

    Raises:
        ValueError: the payload is no list of blocks, or one is not of a packet of the call that can have arrived by then.
    """
    if len(payload) % _BLOCK.size or len(payload) > MAX_BLOCKS * _BLOCK.size:
        raise ValueError(f"feedback of {len(payload)} bytes: allowed are 0 to {MAX_BLOCKS} blocks of {_BLOCK.size}")
    found = []
    for kind, late, path, packet, sent_us, arrived_us, lag_us in _BLOCK.iter_unpack(payload):
        if kind not in (MEDIA, PROBE, COPY) or late > 1 or path >= paths or packet >= packets:
            allowed = f"{MEDIA}, {PROBE} or {COPY}, 0 or 1, below {paths}, below {packets}"
            raise ValueError(f"feedback of kind {kind}, late {late}, path {path}, packet {packet}: allowed are {allowed}")
        age, between_us = divmod(sent_us - packet * SLOT_US, SLOT_US)  # a copy may leave in a later slot
        if (
            between_us
            or not 0 <= age <= (DISTANCES if kind == COPY else 0)
            or not sent_us <= arrived_us <= known_us + AHEAD_US
            or lag_us > MAX_LEVEL_US
        ):
            allowed = f"{packet * SLOT_US}, from then to {known_us + AHEAD_US}, up to {MAX_LEVEL_US}"
            raise ValueError(f"feedback sent at {sent_us}, arrived at {arrived_us}, lag {lag_us} us: allowed are {allowed}")
        found.append(Record(kind, packet, path, sent_us, arrived_us, known_us, lag_us, late))
    return found


def write_command(path: int) -> bytes:
    """Return the command to use `path`."""
    return _COMMAND.pack(path)


def read_command(payload: bytes, paths: int) -> int:
    """Return the path of a command in a call over `paths` paths.

    Raises:
        ValueError: the payload is no command, or of another path.
    """
    path = int(_unpacked(_COMMAND, payload))
    if path >= paths:
        raise ValueError(f"path {path}: allowed are 0 to {paths - 1}")
    return path


def write_level(level_us: int) -> bytes:
    """Return the command to put the level `level_us`, a lag or a headroom of 0 to MAX_LEVEL_US, in force."""
    return _LEVEL.pack(level_us)


def read_level(payload: bytes) -> int:
    """Return the level of a command, in microseconds.

    Raises:
        ValueError: the payload is no level in range.
    """
    level_us = int(_unpacked(_LEVEL, payload))
    if level_us > MAX_LEVEL_US:
        raise ValueError(f"level of {level_us} us: allowed are 0 to {MAX_LEVEL_US}")
    return level_us


def write_setup(origin_us: int) -> bytes:
    """Return the announcement of slot 0 at `origin_us`, in microseconds since 1970."""
    return _SETUP.pack(origin_us)


def read_setup(payload: bytes, now_us: int) -> int:
    """Return the time of slot 0 in microseconds since 1970, from an announcement that arrived at `now_us`.

    Raises:
        ValueError: the payload is no announcement, or not of a call that begins.
    """
    origin_us = int(_unpacked(_SETUP, payload))
    if abs(origin_us - now_us) > MAX_LEAD_US:
        raise ValueError(f"slot 0 at {origin_us} us: allowed are {now_us - MAX_LEAD_US} to {now_us + MAX_LEAD_US}")
    return origin_us


def _unpacked(layout: struct.Struct, payload: bytes) -> int:
    if len(payload) != layout.size:
        raise ValueError(f"payload of {len(payload)} bytes: allowed are {layout.size}")
    value: int = layout.unpack(payload)[0]
    return value
