"""The losses that a sender has seen, by what has come back: exponential averages over its packets, or receiver reports of each second.

A gap before a new packet counts as missing. A packet that comes after all is missing no longer, but overtaken. Receiver reports count as
those of RTP do (RFC 3550, appendix A.3): packets received against packets expected.
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


SECOND_US = 1_000_000
_SECONDS = 16
REPORTS = [
    ("newest", "i8"), ("received", "i8"),  # largest packet number received, -1 before; packets received
    ("second", "i8"), ("newest_then", "i8", (_SECONDS,)), ("received_then", "i8", (_SECONDS,)),  # seconds sampled; by second modulo 16
]  # fmt: skip


@kernel
def clear_reports(row):
    """Forget all reports; `row` is a record with the fields of REPORTS."""
    row.newest = -1
    row.received = 0
    row.second = 0
    row.newest_then[:] = -1
    row.received_then[:] = 0


@kernel
def count_arrival(row, packet):
    """Take in that a packet has arrived by its own transmission; `row` is a record with the fields of REPORTS, updated."""
    row.newest = max(row.newest, packet)
    row.received += 1


@kernel
def reported_loss(row, seconds):
    """Return the loss of the last so many seconds, float64, at the end of a second that is not sampled yet; at least 0."""
    then = (row.second + 1 - min(seconds, row.second + 1)) % _SECONDS
    expected = row.newest - row.newest_then[then]
    return max(0.0, 1.0 - (row.received - row.received_then[then]) / expected) if expected > 0 else 0.0


@kernel
def end_second(row):
    """Sample a second; `row` is a record with the fields of REPORTS, updated."""
    row.second += 1
    row.newest_then[row.second % _SECONDS] = row.newest
    row.received_then[row.second % _SECONDS] = row.received
