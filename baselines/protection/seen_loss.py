"""The losses that a sender has seen: exponential averages over its packets, by what has come back.

A gap before a new packet counts as missing. A packet that comes after all is missing no longer, but overtaken.
"""

from vcgym.network.kernels.jit import kernel

SEEN_LOSS = [("newest", "i8"), ("missing", "f8"), ("overtaken", "f8")]  # largest packet number reported, -1 before; shares of packets


@kernel
def clear_seen_loss(row):
    """Forget everything; `row` is a record with the fields of SEEN_LOSS."""
    row.newest = -1
    row.missing = 0.0
    row.overtaken = 0.0


@kernel
def see_loss(row, packet, gain):
    """Take in that a packet has arrived by its own transmission.

    Args:
        row: record with the fields of SEEN_LOSS, updated.
        packet: int64, its number.
        gain: float64, weight of the newest packet in the averages, 0 to 1.
    """
    if packet < row.newest:
        row.missing -= gain
        row.overtaken += gain
        return
    passed = packet - row.newest
    fading = (1.0 - gain) ** passed
    row.missing = row.missing * fading + gain * (passed - 1)
    row.overtaken *= fading
    row.newest = packet
