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

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

WINDOW_MS = 2000


@record
class Seen:
    """Place of two ring queues: the packets by timestamp, and the candidates for ref by timestamp, from the fastest to the slowest."""

    timestamp: int = 0
    samples: int = 0
    fast_timestamp: int = 0
    fast_arrived_ms: int = 0


@record
class ArrivalHistory:
    """Ends of both queues."""

    first: int = 0
    length: int = 0
    fast_first: int = 0
    fast_length: int = 0


@kernel
def newest_timestamp(history, ring):
    """Return the newest timestamp of a history, which must not be empty."""
    return ring[(history.first + history.length - 1) % ring.size].timestamp


@kernel
def relative_delay_ms(history, ring, timestamp, arrived_ms, samples_per_ms):
    """Return the delay of a packet relative to ref, int64 whole ms, at least 0.

    Args:
        history: ArrivalHistory, not empty.
        ring: (places,) of Seen.
        timestamp: int64, timestamp in samples, unwrapped.
        arrived_ms: int64, arrival.
        samples_per_ms: int64, clock rate of the timestamps, at least 1.
    """
    ref = history.fast_first
    waited_ms = arrived_ms - ring[ref].fast_arrived_ms
    return max(0, waited_ms - (timestamp // samples_per_ms - ring[ref].fast_timestamp // samples_per_ms))


@kernel
def take_in(history, ring, timestamp, arrived_ms, samples, samples_per_ms):
    """Add one packet; return False if it is rejected.

    Args:
        history: ArrivalHistory, updated.
        ring: (places,) of Seen, updated; it has a place for each timestamp in 2000 ms, both ends included.
        timestamp: int64, timestamp in samples, unwrapped.
        arrived_ms: int64, arrival.
        samples: int64, length of the packet in samples, at least 1.
        samples_per_ms: int64, clock rate of the timestamps, at least 1.

    Raises:
        ValueError: more different timestamps within 2000 ms than places.
    """
    capacity = ring.size
    length = history.length
    if length > 0 and timestamp + WINDOW_MS * samples_per_ms < newest_timestamp(history, ring):
        return False
    index = length
    while index > 0 and ring[(history.first + index - 1) % capacity].timestamp > timestamp:
        index -= 1
    if index > 0:
        before = (history.first + index - 1) % capacity
        if ring[before].timestamp + ring[before].samples >= timestamp + samples:
            return False
        if ring[before].timestamp == timestamp:
            return True
    if index == length:
        _forget_older(history, ring, timestamp - WINDOW_MS * samples_per_ms)
        _remember_fast(history, ring, timestamp, arrived_ms, samples_per_ms)
        index = history.length
    _insert(history, ring, index, timestamp, samples)
    return True


@kernel
def _forget_older(history, ring, oldest):
    capacity = ring.size
    while history.length > 0 and ring[history.first].timestamp < oldest:
        history.first = (history.first + 1) % capacity
        history.length -= 1
    while history.fast_length > 0 and ring[history.fast_first].fast_timestamp < oldest:
        history.fast_first = (history.fast_first + 1) % capacity
        history.fast_length -= 1


@kernel
def _remember_fast(history, ring, timestamp, arrived_ms, samples_per_ms):
    """Append the newest packet after the strictly faster ones; drop the others, which can never be ref again."""
    capacity = ring.size
    delay = arrived_ms * samples_per_ms - timestamp
    length = history.fast_length
    while length > 0:
        last = (history.fast_first + length - 1) % capacity
        if delay > ring[last].fast_arrived_ms * samples_per_ms - ring[last].fast_timestamp:
            break
        length -= 1
    if length == capacity:
        raise ValueError("arrival history: no room for one more timestamp in 2000 ms; allowed are packets at least packet_ms apart")
    last = (history.fast_first + length) % capacity
    ring[last].fast_timestamp = timestamp
    ring[last].fast_arrived_ms = arrived_ms
    history.fast_length = length + 1


@kernel
def _insert(history, ring, index, timestamp, samples):
    capacity = ring.size
    if history.length == capacity:
        raise ValueError("arrival history: no room for one more timestamp in 2000 ms; allowed are packets at least packet_ms apart")
    for entry in range(history.length, index, -1):
        target, source = (history.first + entry) % capacity, (history.first + entry - 1) % capacity
        ring[target].timestamp = ring[source].timestamp
        ring[target].samples = ring[source].samples
    target = (history.first + index) % capacity
    ring[target].timestamp = timestamp
    ring[target].samples = samples
    history.length += 1
