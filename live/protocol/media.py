"""Payloads of media: an RTP packet with 10 ms of Opus, and earlier ones as RED if they go along; and of copies of it.

RED is RFC 2198: in front of the data a header for each block, from the oldest to the packet's own

    1 (1 bit)  payload type (7)  timestamp offset (14)  length (10)        of an earlier frame
    0 (1 bit)  payload type (7)                                            of the packet's own

Left out: blocks of other codecs than the packet's. A copy is the RTP packet as it was (RFC 7198), after the slot in which the copy leaves.
"""

import struct
from collections.abc import Sequence

from aiortc.rtp import RtpPacket

from vcgym.network.kernels.slots import SLOT_US

RTP_BYTES = 12
PAYLOAD_TYPE, RED_TYPE = 111, 63  # dynamic (RFC 3551, section 6); by habit Opus and RED in WebRTC
RTP_HZ = 48_000  # RFC 7587, section 4.1
_TICKS = RTP_HZ * SLOT_US // 1_000_000  # of a packet
FARTHEST = ((1 << 14) - 1) // _TICKS
"""Largest distance of an earlier frame in packets, by the bits of its offset."""
LONGEST = (1 << 10) - 1
"""Largest earlier frame in bytes, by the bits of its length."""
BLOCK_BYTES, OWN_BYTES = 4, 1  # of the headers of RED

_BLOCK, _SLOT = struct.Struct("!I"), struct.Struct("!I")
SLOT_BYTES = _SLOT.size
_MORE = 0x80  # first bit of a header of RED: another one follows

Frames = Sequence[tuple[int, bytes]]
"""Frames of Opus with their distances in packets."""


def write_media(ssrc: int, slot: int, opus: bytes, earlier: Frames = ()) -> bytes:
    """Return the RTP packet of a slot; `earlier` frames from the newest to the oldest, up to FARTHEST and LONGEST."""
    payload = opus
    if earlier:
        heads = [_BLOCK.pack((_MORE | PAYLOAD_TYPE) << 24 | distance * _TICKS << 10 | len(one)) for distance, one in reversed(earlier)]
        payload = b"".join([*heads, bytes((PAYLOAD_TYPE,)), *(one for _, one in reversed(earlier)), opus])
    packet = RtpPacket(
        payload_type=RED_TYPE if earlier else PAYLOAD_TYPE, sequence_number=slot & 0xFFFF, timestamp=slot * _TICKS & 0xFFFFFFFF,
        ssrc=ssrc & 0xFFFFFFFF, payload=payload,
    )  # fmt: skip
    return bytes(packet.serialize())


def read_media(payload: bytes) -> tuple[int, Frames]:
    """Return the sequence number of an RTP packet, and its frames: its own at distance 0, then the earlier ones, the newest first.

    Raises:
        ValueError: the payload is no RTP packet, its RED is broken, or it has an empty frame.
    """
    packet = RtpPacket.parse(payload)
    blocks, rest = [], packet.payload
    if packet.payload_type == RED_TYPE:
        while len(rest) > _BLOCK.size and rest[0] == _MORE | PAYLOAD_TYPE:
            (word,) = _BLOCK.unpack_from(rest)
            blocks.append((word >> 10 & (1 << 14) - 1, word & LONGEST))
            rest = rest[_BLOCK.size :]
        if rest[:OWN_BYTES] != bytes((PAYLOAD_TYPE,)):
            raise ValueError(f"RED of {len(packet.payload)} bytes: allowed are headers of payload type {PAYLOAD_TYPE}, one without more")
        rest = rest[OWN_BYTES:]
    frames = []
    for ticks, size in blocks:
        if ticks == 0 or ticks % _TICKS or size > len(rest):
            allowed = f"multiples of {_TICKS} above 0, and up to {len(rest)} bytes"
            raise ValueError(f"timestamp offset of {ticks}, {size} bytes: allowed are {allowed}")
        frames.append((ticks // _TICKS, rest[:size]))
        rest = rest[size:]
    frames.append((0, rest))
    if not all(one for _, one in frames):
        raise ValueError("RTP payload with a frame of 0 bytes: allowed are 1 and more")
    return packet.sequence_number, sorted(frames)


def write_copy(slot: int, packet: bytes) -> bytes:
    """Return the payload of a copy of an RTP packet that leaves in `slot`."""
    return _SLOT.pack(slot) + packet


def slot_of(payload: bytes) -> int:
    """Return the slot in which a copy leaves.

    Raises:
        ValueError: the payload is too short for one.
    """
    if len(payload) < SLOT_BYTES:
        raise ValueError(f"copy of {len(payload)} bytes: allowed are {SLOT_BYTES} and more")
    slot: int = _SLOT.unpack_from(payload)[0]
    return slot


def read_copy(payload: bytes) -> tuple[int, int, Frames]:
    """Return slot and packet number of a copy, and its frames as `read_media` does.

    Raises:
        ValueError: as in `read_media`, or a packet from before the call.
    """
    slot = slot_of(payload)
    sequence, frames = read_media(payload[SLOT_BYTES:])
    number = slot - (slot - sequence & 0xFFFF)
    if number < 0:
        raise ValueError(f"copy of packet {number}: allowed are 0 and up")
    return slot, number, frames
