"""Capacity of a bottleneck over time: traces of its rate, or of single delivery opportunities (the mahimahi format).

A trace depends only on the world. It repeats after its length, as in mahimahi (Netravali et al., USENIX ATC 2015).

Left out: traces whose rate falls to 0; for a measured one, give a minimum rate (`rate_trace`, `min_bps`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.traces.reading import TraceError

OPPORTUNITY_BYTES = 1500  # capacity of one line of a mahimahi trace
MAX_RATE_BPS = 10**11  # so that bits per microsecond stay exact in int64
MAX_LENGTH_US = 10**12  # 11 days
MAX_OPPORTUNITIES = 10_000_000  # per trace: 20 minutes at 100 Mbit/s
_FOREVER_US = 10**15
_MIN_RATE_BPS = 1000


class Conditions(NamedTuple):
    """Delay and loss of a link that change with its rates; arrays (n,), each in force as long as the rate."""

    delay_us: NDArray[np.int64]  # int64, one-way delay behind the queue, 0 to 60 s
    jitter_us: NDArray[np.int64]  # int64, the delay of a packet is uniform in this range around `delay_us`, but not below 0
    loss: NDArray[np.float64]  # float64, probability of random loss, 0 to 1

    @property
    def floor_us(self) -> int:
        """The smallest delay."""
        return int(np.maximum(self.delay_us - self.jitter_us, 0).min())

    def part(self, first: int, end: int) -> "Conditions":
        """Return those from `first` to before `end`."""
        return Conditions(self.delay_us[first:end], self.jitter_us[first:end], self.loss[first:end])


class CapacityTrace(NamedTuple):
    """Capacity trace. `rates_bps` (n,) apply from `times_us` (n,) to the next time; all 0: 1500 bytes may leave at each of `times_us`."""

    name: str
    times_us: NDArray[np.int64]
    rates_bps: NDArray[np.int64]
    length_us: int
    conditions: Conditions | None = None  # only with rates; None: delay and loss are the world's


class Capacity(NamedTuple):
    """The traces of a batch of bottlenecks in one pool; first axis of the first five: bottleneck, of the last four: trace."""

    first: NDArray[np.int64]  # (bottlenecks,), offset of its trace in the pool
    entries: NDArray[np.int64]
    length_us: NDArray[np.int64]
    start_us: NDArray[np.int64]  # position in the trace at the start of a call
    changes: NDArray[np.int64]  # 1: its trace has conditions
    times_us: NDArray[np.int64]  # (pool,)
    rates_bps: NDArray[np.int64]
    conditions: Conditions  # (pool,), delays above the trace's smallest; (0,) if no trace has them
    all_first: NDArray[np.int64]  # (traces,)
    all_entries: NDArray[np.int64]
    all_length_us: NDArray[np.int64]
    all_changes: NDArray[np.int64]


def constant(rate_bps: float) -> CapacityTrace:
    """Return a trace with a constant rate."""
    return rate_trace("constant", [0.0], [rate_bps], _FOREVER_US / 1e6)


def rate_trace(
    name: str, times_s: ArrayLike, rates_bps: ArrayLike, length_s: float, min_bps: float = 0.0, source: str | Path = "capacity trace"
) -> CapacityTrace:  # fmt: skip
    """Make a trace of rates.

    Args:
        name: name of the trace.
        times_s: (n,), start of each rate; the first is 0, increasing.
        rates_bps: (n,), bits per second, 1 kbit/s to 100 Gbit/s.
        length_s: period of the trace, above the last time.
        min_bps: smaller rates, including 0, are raised to this one; 0: they are rejected.
        source: file name for errors.

    Raises:
        TraceError: no rates, another number of times, times that do not rise, a rate that is 0, negative, not finite or out of range.
    """
    times, rates = np.asarray(times_s, np.float64), np.asarray(rates_bps, np.float64)
    source = Path(source)
    if rates.ndim != 1 or not rates.size or times.shape != rates.shape:
        raise TraceError(source, f"shape of times and rates of {name}", f"{times.shape}, {rates.shape}", "(n,), (n,), n from 1")
    rates = np.maximum(rates, min_bps) if min_bps > 0.0 else rates
    _refuse_first(source, f"rate of {name}, bit/s", rates, (rates >= _MIN_RATE_BPS) & (rates <= MAX_RATE_BPS), "1e3 to 1e11")
    times_us = _rising_us(source, name, times)
    length_us = round(length_s * 1e6)
    if not times_us[-1] < length_us <= _FOREVER_US:
        raise TraceError(source, f"length of {name}, s", length_s, f"above the last time, {times[-1]}")
    return CapacityTrace(name, times_us, np.rint(rates).astype(np.int64), length_us)


def steps(name: str, changes: Sequence[tuple[float, float]], length_s: float) -> CapacityTrace:
    """Make a trace of rates that change at given times: (time in s, Mbit/s), as in the basic cases of RFC 8867."""
    return rate_trace(name, [at for at, _ in changes], [mbps * 1e6 for _, mbps in changes], length_s)


def opportunity_trace(name: str, times_ms: ArrayLike, source: str | Path = "capacity trace") -> CapacityTrace:
    """Make a trace of opportunities to deliver 1500 bytes.

    Args:
        name: name of the trace.
        times_ms: (n,), whole milliseconds from 0, never decreasing, n at most `MAX_OPPORTUNITIES`; the trace repeats after the last one.
        source: file name for errors.

    Raises:
        TraceError: no times or too many, times that decrease, are negative or not whole milliseconds, or a length of 0.
    """
    times, source = np.asarray(times_ms), Path(source)
    if times.ndim != 1 or not 1 <= times.size <= MAX_OPPORTUNITIES:
        raise TraceError(source, f"number of opportunities of {name}", times.size, f"1 to {MAX_OPPORTUNITIES}")
    _refuse_first(source, f"time of {name}, ms", times, (times >= 0) & (times <= MAX_LENGTH_US // 1000), "0 to 1e9")
    if times.dtype.kind == "f":
        _refuse_first(source, f"time of {name}, ms", times, times % 1 == 0, "a whole number")
    _refuse_first(source, f"time of {name}, ms", times[1:], times[1:] >= times[:-1], "not below the one before")
    if times[-1] == 0:
        raise TraceError(source, f"last time of {name}, ms", 0, "above 0: the trace repeats after it")
    times_us = times.astype(np.int64)
    times_us *= 1000
    return CapacityTrace(name, times_us, _no_rates(times_us), int(times_us[-1]))


def cut(trace: CapacityTrace, low: float, high: float) -> CapacityTrace:
    """Return the part of a trace between two shares of its length as a new trace.

    Raises:
        TraceError: the part has no delivery opportunity, or is shorter than a microsecond.
    """
    from_us, to_us = int(low * trace.length_us), int(high * trace.length_us)
    if not from_us < to_us:
        raise TraceError(trace.name, f"length between {low:.0%} and {high:.0%} of the trace, us", to_us - from_us, "at least 1")
    if trace.rates_bps[0]:
        first, end = int(np.searchsorted(trace.times_us, from_us, "right")) - 1, int(np.searchsorted(trace.times_us, to_us))
        times_us = np.maximum(trace.times_us[first:end] - from_us, 0)
        then = None if trace.conditions is None else trace.conditions.part(first, end)
        return CapacityTrace(trace.name, times_us, trace.rates_bps[first:end], to_us - from_us, then)
    times_us = trace.times_us[(trace.times_us > from_us) & (trace.times_us <= to_us)] - from_us
    if not times_us.size:
        raise TraceError(trace.name, f"opportunities to send between {low:.0%} and {high:.0%} of the trace", 0, "at least 1")
    return CapacityTrace(trace.name, times_us, _no_rates(times_us), to_us - from_us)


def pool(traces: Sequence[CapacityTrace], bottlenecks: int) -> Capacity:
    """Return a pool of traces for `bottlenecks` bottlenecks; each has the first trace until `choose_trace`."""
    starts = np.cumsum([0, *(len(trace.times_us) for trace in traces)])
    first, entries, length_us, start_us, changes = (np.zeros(bottlenecks, np.int64) for _ in range(5))
    capacity = Capacity(
        first,
        entries,
        length_us,
        start_us,
        changes,
        np.concatenate([trace.times_us for trace in traces]),
        np.concatenate([trace.rates_bps for trace in traces]),
        _pooled([trace.conditions for trace in traces], np.diff(starts)),
        starts[:-1].astype(np.int64),
        np.diff(starts).astype(np.int64),
        np.array([trace.length_us for trace in traces], np.int64),
        np.array([trace.conditions is not None for trace in traces], np.int64),
    )
    for s in range(bottlenecks):
        choose_trace(capacity, s, 0, 0)
    return capacity


def _pooled(every: Sequence[Conditions | None], entries: NDArray[np.int64]) -> Conditions:
    if all(one is None for one in every):
        return Conditions(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    pooled = Conditions(np.zeros(entries.sum(), np.int64), np.zeros(entries.sum(), np.int64), np.zeros(entries.sum()))
    for one, end, n in zip(every, np.cumsum(entries), entries, strict=True):
        if one is not None:
            pooled.delay_us[end - n : end] = one.delay_us - one.floor_us
            pooled.jitter_us[end - n : end], pooled.loss[end - n : end] = one.jitter_us, one.loss
    return pooled


def choose_trace(capacity: Capacity, s: int, trace: int, start_us: int) -> None:
    """Assign trace number `trace` of the pool, from `start_us` on, to bottleneck `s`."""
    capacity.first[s] = capacity.all_first[trace]
    capacity.entries[s] = capacity.all_entries[trace]
    capacity.length_us[s] = capacity.all_length_us[trace]
    capacity.changes[s] = capacity.all_changes[trace]
    capacity.start_us[s] = start_us % capacity.length_us[s]


@kernel
def entry_after(capacity, s, at_us):
    """Return the index in the trace of bottleneck `s` of the first entry after an instant of the trace, or the number of entries."""
    first, index, past = capacity.first[s], np.int64(0), capacity.entries[s]
    while index < past:
        middle = (index + past) // 2
        if capacity.times_us[first + middle] <= at_us:
            index = middle + 1
        else:
            past = middle
    return index


@kernel
def capacity_between_bps(capacity, s, from_us, to_us):
    """Return the mean capacity of a bottleneck between two instants of the call, from 0 on, the second after the first; float64 bit/s.

    Opportunities count after the first instant, up to and including the second.
    """
    first, entries, length_us = capacity.first[s], capacity.entries[s], capacity.length_us[s]
    at_us, ends_us = from_us + capacity.start_us[s], to_us + capacity.start_us[s]
    cycle_us = at_us // length_us * length_us
    index = entry_after(capacity, s, at_us - cycle_us)
    bits = 0.0
    rated = capacity.rates_bps[first] > 0
    while at_us < ends_us:
        if index < entries:
            next_us = cycle_us + capacity.times_us[first + index]
        else:
            next_us = cycle_us + length_us + (0 if rated else capacity.times_us[first])
        if rated:
            bits += np.float64(capacity.rates_bps[first + index - 1]) * (min(next_us, ends_us) - at_us) * 1e-6  # may exceed 64 bits
        elif next_us <= ends_us:
            bits += 8.0 * OPPORTUNITY_BYTES
        at_us = next_us
        index += 1
        if index > entries:
            index, cycle_us = np.int64(1), cycle_us + length_us
    return bits / (to_us - from_us) * 1e6


def mean_bps(trace: CapacityTrace, from_us: int = 0, to_us: int | None = None) -> float:
    """Return the mean rate of a trace between two instants, by default over its whole length; beyond its end it repeats."""
    bps: float = capacity_between_bps(pool([trace], 1), 0, from_us, trace.length_us if to_us is None else to_us)
    return bps


def _no_rates(times_us: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.broadcast_to(np.int64(0), times_us.shape)  # takes no memory


def _rising_us(source: Path, name: str, times_s: NDArray[np.float64]) -> NDArray[np.int64]:
    _refuse_first(source, f"time of {name}, s", times_s, (times_s >= 0) & (times_s * 1e6 < _FOREVER_US), "0 to 1e9")
    times_us = np.rint(times_s * 1e6).astype(np.int64)
    if times_us[0] != 0:
        raise TraceError(source, f"first time of {name}, s", times_s[0], "0")
    _refuse_first(source, f"time of {name}, s", times_s[1:], np.diff(times_us) > 0, "above the one before")
    return times_us


def _refuse_first(source: Path, what: str, values: NDArray[np.float64], fine: NDArray[np.bool_], allowed: str) -> None:
    if not fine.all():
        index = int(np.argmin(fine))
        raise TraceError(source, f"{what}, entry {index}", values[index].item(), allowed)
