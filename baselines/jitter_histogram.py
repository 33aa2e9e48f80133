"""Accumulated jitter over a window, and the forgetting histogram it is put into.

Accumulated jitter (Algorithm 2 of WMJitter, arXiv 2310.05054; the same running sum as the 2020 delay manager of NetEQ): with d =
difference of one-way delay to the last arrived packet, kept for 2000 ms of sent time and dropped from the oldest arrival on,

    J = 0;  J = max(0, J + d) for each d of the window in order of arrival
      = one_way_delay - min(one_way_delay over the window and over the packet just before its oldest d)

Since a d leaves only when all that arrived before it have left, the predecessor's delay of d counts as long as the newest sent time among
all d up to that one is within 2000 ms of the newest of all. A monotone deque holds those minima; its expiries strictly increase, so at
one packet per 10 ms it never has more than 201 entries.

Histogram: libwebrtc's NetEQ (modules/audio_coding/neteq/histogram.cc, 2022 and later), in its integers: probabilities have 30 fractional
bits, forget factors 15, and every product rounds down. Left out: resizing, and the variant without a start weight.
"""

from typing import NamedTuple

import numpy as np

from vcgym.network.jit import kernel

JITTER_WINDOW_US = 2_000_000
BUCKETS = 100
ONE = 1 << 30  # probability 1
FULL_FACTOR = 1 << 15  # forget factor 1
NO_JITTER = -1  # of the first packet

_RING = 256  # a power of two above 201
_NEVER_US = np.iinfo(np.int64).min


class JitterWindow(NamedTuple):
    """Minima of one-way delay, oldest first. Arrays (sessions,) or (sessions, 256), int64."""

    delay_us: np.ndarray
    expiry_us: np.ndarray
    first: np.ndarray
    length: np.ndarray
    newest_us: np.ndarray  # newest sent time of a packet that has a d
    last_delay_us: np.ndarray
    started: np.ndarray


class Histogram(NamedTuple):
    """Arrays (sessions,), probability (sessions, 100), int64."""

    probability: np.ndarray
    factor: np.ndarray
    added: np.ndarray


def allocate_window(sessions: int) -> JitterWindow:
    """Rows to be started by `reset_window`."""
    rings = [np.zeros((sessions, _RING), np.int64) for _ in range(2)]
    return JitterWindow(*rings, *(np.zeros(sessions, np.int64) for _ in range(5)))


def allocate_histogram(sessions: int) -> Histogram:
    """Rows to be started by `reset_histogram`."""
    return Histogram(np.zeros((sessions, BUCKETS), np.int64), np.zeros(sessions, np.int64), np.zeros(sessions, np.int64))


@kernel
def reset_window(window, s):
    """Forget every packet of row `s`."""
    window.first[s] = 0
    window.length[s] = 0
    window.newest_us[s] = _NEVER_US
    window.started[s] = 0


@kernel
def accumulated_jitter(window, s, sent_us, arrived_us):
    """Take in one arrived packet and return its accumulated jitter J (us), NO_JITTER for the first one.

    Raises:
        ValueError: more than 256 packets of increasing sent time within 2000 ms.
    """
    delay_us = arrived_us - sent_us
    if window.started[s] == 0:
        window.started[s] = 1
        window.last_delay_us[s] = delay_us
        return NO_JITTER
    window.newest_us[s] = max(window.newest_us[s], sent_us)
    _push(window, s, window.last_delay_us[s], window.newest_us[s])
    while window.newest_us[s] - window.expiry_us[s, window.first[s]] > JITTER_WINDOW_US:
        window.first[s] = (window.first[s] + 1) % _RING
        window.length[s] -= 1
    window.last_delay_us[s] = delay_us
    return max(0, delay_us - window.delay_us[s, window.first[s]])


@kernel
def _push(window, s, delay_us, expiry_us):
    last = (window.first[s] + window.length[s] - 1) % _RING
    while window.length[s] > 0 and window.delay_us[s, last] >= delay_us:
        window.length[s] -= 1
        last = (last - 1) % _RING
    if window.length[s] > 0 and window.expiry_us[s, last] == expiry_us:
        return  # a smaller delay stays as long
    if window.length[s] == _RING:
        raise ValueError("jitter window: more than 256 packets of increasing sent time in 2000 ms; allowed are packets of at least 8 ms")
    last = (last + 1) % _RING
    window.delay_us[s, last] = delay_us
    window.expiry_us[s, last] = expiry_us
    window.length[s] += 1


@kernel
def reset_histogram(histogram, s):
    """Start row `s`: bucket i holds 2^-(i+1), near enough, and the factor 0 makes the first samples overwrite that."""
    for i in range(BUCKETS):
        histogram.probability[s, i] = (16386 >> min(i + 1, 15)) << 16
    histogram.factor[s] = 0
    histogram.added[s] = 0


@kernel
def add_to_histogram(histogram, s, bucket, forget_factor, start_weight):
    """Count one sample in `bucket`; one at or beyond the last edge is not counted.

    Args:
        histogram: state.
        s: the row that is written.
        bucket: at least 0.
        forget_factor: share that the past keeps, in [0, 1].
        start_weight: how the share grows to that from 0: it is 1 - start_weight / (samples + 1) so far.
    """
    if bucket >= BUCKETS:
        return
    factor = histogram.factor[s]
    excess = -ONE
    for i in range(BUCKETS):
        histogram.probability[s, i] = (histogram.probability[s, i] * factor) >> 15
        excess += histogram.probability[s, i]
    hit = (FULL_FACTOR - factor) << 15
    histogram.probability[s, bucket] += hit
    _settle(histogram, s, excess + hit)
    histogram.added[s] += 1
    rising = FULL_FACTOR * (histogram.added[s] + 1 - start_weight) // (histogram.added[s] + 1)
    histogram.factor[s] = min(max(rising, 0), int(forget_factor * FULL_FACTOR))


@kernel
def _settle(histogram, s, excess):
    """Spread what rounding took, so that the sum is exactly 1: from bucket 0 on, at most a sixteenth of each bucket."""
    for i in range(BUCKETS):
        if excess == 0:
            return
        sixteenth = histogram.probability[s, i] >> 4
        correction = max(-excess, -sixteenth) if excess > 0 else min(-excess, sixteenth)
        histogram.probability[s, i] += correction
        excess += correction


@kernel
def quantile_bucket(histogram, s, quantile):
    """Smallest bucket up to which at least `quantile` of the probability lies."""
    wanted = int(quantile * ONE)
    reached = histogram.probability[s, 0]
    bucket = 0
    while reached < wanted and bucket < BUCKETS - 1:
        bucket += 1
        reached += histogram.probability[s, bucket]
    return bucket


@kernel
def cheapest_bucket(histogram, s, bucket_us, base_us, us_per_loss_percent):
    """Bucket i of the least max(0, i bucket_us - base_us) + us_per_loss_percent * percent beyond i, the lowest on ties."""
    beyond = ONE
    best, best_cost = 0, np.iinfo(np.int64).max
    for i in range(BUCKETS):
        beyond -= histogram.probability[s, i]
        cost = (max(0, i * bucket_us - base_us) << 30) + 100 * us_per_loss_percent * beyond
        if cost < best_cost:
            best, best_cost = i, cost
        if beyond == 0:
            break
    return best
