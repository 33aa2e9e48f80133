"""RTP number spaces that wrap, and streams that begin anew within a log.

A sender that pauses may go on with other time stamps, or with other numbers; and a capture may hold two streams. Both make delays that no
network had, or losses that nobody had. What a network cannot do is refused with the line.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.reading import TraceError
from vcgym.network.traces.trace import MAX_DELAY_US

JUMP_US = 250_000  # the way over a geostationary satellite; no series of pings over satellites and cars on 4G and 5G jumps by it and stays
MAX_DROPOUT, MAX_MISORDER = 3_000, 100  # packets, RFC 3550, appendix A.1

_STEADY_PACKETS, _STEADY_US = 20, 1_000_000  # of a new level, so that a queue that drains is none
_APART_US = 1_000_000  # media time that no reordering spans
_OFTEN = 10.0  # times the usual packets per second
_HINT = "is this one stream? Print rtp.ssrc too, which parts streams; or import each part of the log by itself"


def unwrapped_timestamps(values: NDArray[np.int64], arrived_us: NDArray[np.int64], sample_rate_hz: int, bits: int) -> NDArray[np.int64]:
    """Unwrap time stamps (n,) of `bits` bits: each step is the one nearest to the time that passed between the arrivals."""
    whole = np.zeros(len(values), np.int64)
    expected = np.rint(np.diff(arrived_us) * (sample_rate_hz * 1e-6)).astype(np.int64)
    np.subtract(values[1:], values[:-1], out=whole[1:])
    whole[1:] -= expected
    _wrap(whole[1:], bits)
    whole[1:] += expected
    np.cumsum(whole, out=whole)
    whole += values[0]
    return whole


def unwrapped_sequence(values: NDArray[np.integer[Any]], sent_us: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Unwrap numbers (n,) of `bits` bits: the nearest step, but forward where media time passed, and back where it went back."""
    whole, passed_us = np.zeros(len(values), np.int64), np.diff(sent_us)
    np.subtract(values[1:], values[:-1], out=whole[1:])
    _wrap(whole[1:], bits)
    steps = whole[1:]
    steps[(passed_us > _APART_US) & (steps < 0)] += 2**bits
    steps[(passed_us < -_APART_US) & (steps > 0)] -= 2**bits
    np.cumsum(whole, out=whole)
    whole += values[0]
    return whole


def _wrap(steps: NDArray[np.int64], bits: int) -> None:
    half = 2 ** (bits - 1)
    steps += half
    steps %= 2 * half
    steps -= half


def refuse_new_timestamps(path: Path, lines: NDArray[np.int32], sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64]) -> None:
    """Reject a stream whose time stamps begin anew.

    Then arrival less media time changes at once by more than `JUMP_US`, and stays so: after an outage, what waited arrives ever less late.

    Args:
        path: file name for errors.
        lines: (n,) line of each packet.
        sent_us: (n,) media times, in order of arrival.
        arrived_us: (n,) arrivals.

    Raises:
        TraceError: the line of the jump.
    """
    transit_us = arrived_us - sent_us
    jumps = np.flatnonzero(np.abs(np.diff(transit_us)) > JUMP_US) + 1
    if not len(jumps):
        return
    lowest_us = np.minimum.accumulate(transit_us)
    for at, following in zip(jumps.tolist(), [*jumps[1:].tolist(), len(transit_us)], strict=True):
        step_us = int(transit_us[at] - transit_us[at - 1])
        rises_us = int(transit_us[at:following].min() - lowest_us[at - 1])
        first, last = (at, following - 1) if rises_us > 0 else (0, at - 1)  # the side that must be more than one late packet
        steady = last - first >= _STEADY_PACKETS and arrived_us[last] - arrived_us[first] >= max(_STEADY_US, abs(step_us) // 4)
        if abs(step_us) > MAX_DELAY_US or (steady and abs(rises_us) > JUMP_US):
            allowed = f"within {JUMP_US / 1e3:g} of {transit_us[at - 1] / 1e3:.15g}, the one before; {_HINT}"
            raise TraceError(path, f"line {lines[at]}, arrival time less media time in ms", float(transit_us[at]) / 1e3, allowed)


def refuse_new_numbers(
    path: Path, column: str, lines: NDArray[np.int32], numbers: NDArray[np.int64], sent_us: NDArray[np.int64]
) -> None:  # fmt: skip
    """Reject a stream whose numbers (n,), unwrapped and in order of arrival, begin anew while its media time goes on.

    Raises:
        TraceError: the line at which numbers fall by more than `MAX_MISORDER`, or rise by more than `MAX_DROPOUT` and faster than packets
            are sent.
    """
    steps, passed_us = np.diff(numbers), np.diff(sent_us)
    far = np.flatnonzero((steps > MAX_DROPOUT) | ((steps < -MAX_MISORDER) & (passed_us >= 0)))
    if not len(far):
        return
    forward_us = passed_us[(steps == 1) & (passed_us > 0)]
    usual_us = float(np.median(forward_us)) if len(forward_us) else 1.0
    usual_us = min(usual_us, float(np.ptp(sent_us)) / len(sent_us))
    for at in far.tolist():
        if steps[at] < 0 or steps[at] * usual_us > _OFTEN * passed_us[at]:
            allowed = f"a number near {numbers[at] % 2**16}, the one before; {_HINT}"
            raise TraceError(path, f"line {lines[at + 1]}, {column}", int(numbers[at + 1] % 2**16), allowed)
