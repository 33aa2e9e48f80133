"""Arrival history of NetEQ: the delay of each packet relative to the fastest packet of the last 2000 ms of media.

libwebrtc, modules/audio_coding/neteq/packet_arrival_history.cc, from 2022 on. For packets with unwrapped timestamps ts (samples) and
arrival times arr (whole ms),

    relative delay = max(0, (arr - arr_ref) - (ms(ts) - ms(ts_ref))),   ms() rounds down

where ref is the packet with the smallest arr - ts in the window, the latest on ties. Only packets that were the newest on arrival can be
ref. A packet is rejected if ts + 2000 ms < the newest ts, or if the entry at or just before its ts contains all its media. A packet that
starts with an entry but is longer counts as accepted, but changes nothing.

Left out: the maximum delay of the window, which only the playout decisions read. Timestamps below zero (packets older than the first of a
stream) are rounded toward zero in the source, and down here.
"""

from typing import NamedTuple

import numpy as np

from vcgym.network.kernels.jit import kernel

WINDOW_MS = 2000


class ArrivalHistory(NamedTuple):
    """Two ring queues: the packets by timestamp, and the candidates for ref by timestamp, from the fastest to the slowest.

    Arrays (sessions, capacity) or (sessions,), int64.
    """

    timestamp: np.ndarray
    samples: np.ndarray
    first: np.ndarray
    length: np.ndarray
    fast_timestamp: np.ndarray
    fast_arrived_ms: np.ndarray
    fast_first: np.ndarray
    fast_length: np.ndarray


def allocate_history(sessions: int, capacity: int) -> ArrivalHistory:
    """Return rows to be started by `reset_history`; `capacity`: maximum number of timestamps in 2000 ms, both ends included."""
    rings, columns = ([np.zeros(shape, np.int64) for _ in range(4)] for shape in ((sessions, capacity), sessions))
    return ArrivalHistory(*rings[:2], *columns[:2], *rings[2:], *columns[2:])


@kernel
def reset_history(history, s):
    """Remove all packets of row `s`."""
    history.first[s] = 0
    history.length[s] = 0
    history.fast_first[s] = 0
    history.fast_length[s] = 0


@kernel
def newest_timestamp(history, s):
    """Return the newest timestamp in row `s`, which must not be empty."""
    return history.timestamp[s, (history.first[s] + history.length[s] - 1) % history.timestamp.shape[1]]


@kernel
def relative_delay_ms(history, s, timestamp, arrived_ms, samples_per_ms):
    """Return the delay of a packet relative to ref, int64 whole ms, at least 0.

    Args:
        history: ArrivalHistory; row `s` is not empty.
        s: int64, row.
        timestamp: int64, timestamp in samples, unwrapped.
        arrived_ms: int64, arrival.
        samples_per_ms: int64, clock rate of the timestamps, at least 1.
    """
    ref = history.fast_first[s]
    waited_ms = arrived_ms - history.fast_arrived_ms[s, ref]
    return max(0, waited_ms - (timestamp // samples_per_ms - history.fast_timestamp[s, ref] // samples_per_ms))


@kernel
def take_in(history, s, timestamp, arrived_ms, samples, samples_per_ms):
    """Add one packet; return False if it is rejected.

    Args:
        history: ArrivalHistory; row `s` is updated.
        s: int64, row.
        timestamp: int64, timestamp in samples, unwrapped.
        arrived_ms: int64, arrival.
        samples: int64, length of the packet in samples, at least 1.
        samples_per_ms: int64, clock rate of the timestamps, at least 1.

    Raises:
        ValueError: more different timestamps within 2000 ms than the capacity.
    """
    capacity = history.timestamp.shape[1]
    length = history.length[s]
    if length > 0 and timestamp + WINDOW_MS * samples_per_ms < newest_timestamp(history, s):
        return False
    index = length
    while index > 0 and history.timestamp[s, (history.first[s] + index - 1) % capacity] > timestamp:
        index -= 1
    if index > 0:
        before = (history.first[s] + index - 1) % capacity
        if history.timestamp[s, before] + history.samples[s, before] >= timestamp + samples:
            return False
        if history.timestamp[s, before] == timestamp:
            return True
    if index == length:
        _forget_older(history, s, timestamp - WINDOW_MS * samples_per_ms)
        _remember_fast(history, s, timestamp, arrived_ms, samples_per_ms)
        index = history.length[s]
    _insert(history, s, index, timestamp, samples)
    return True


@kernel
def _forget_older(history, s, oldest):
    capacity = history.timestamp.shape[1]
    while history.length[s] > 0 and history.timestamp[s, history.first[s]] < oldest:
        history.first[s] = (history.first[s] + 1) % capacity
        history.length[s] -= 1
    while history.fast_length[s] > 0 and history.fast_timestamp[s, history.fast_first[s]] < oldest:
        history.fast_first[s] = (history.fast_first[s] + 1) % capacity
        history.fast_length[s] -= 1


@kernel
def _remember_fast(history, s, timestamp, arrived_ms, samples_per_ms):
    """Append the newest packet after the strictly faster ones; drop the others, which can never be ref again."""
    capacity = history.timestamp.shape[1]
    delay = arrived_ms * samples_per_ms - timestamp
    length = history.fast_length[s]
    while length > 0:
        last = (history.fast_first[s] + length - 1) % capacity
        if delay > history.fast_arrived_ms[s, last] * samples_per_ms - history.fast_timestamp[s, last]:
            break
        length -= 1
    if length == capacity:
        raise ValueError("arrival history: no room for one more timestamp in 2000 ms; allowed are packets at least packet_ms apart")
    last = (history.fast_first[s] + length) % capacity
    history.fast_timestamp[s, last] = timestamp
    history.fast_arrived_ms[s, last] = arrived_ms
    history.fast_length[s] = length + 1


@kernel
def _insert(history, s, index, timestamp, samples):
    capacity = history.timestamp.shape[1]
    if history.length[s] == capacity:
        raise ValueError("arrival history: no room for one more timestamp in 2000 ms; allowed are packets at least packet_ms apart")
    for entry in range(history.length[s], index, -1):
        target, source = (history.first[s] + entry) % capacity, (history.first[s] + entry - 1) % capacity
        history.timestamp[s, target] = history.timestamp[s, source]
        history.samples[s, target] = history.samples[s, source]
    target = (history.first[s] + index) % capacity
    history.timestamp[s, target] = timestamp
    history.samples[s, target] = samples
    history.length[s] += 1
