"""Measured series of delays: validation and conversion to 10-ms slots.

A trace has one entry per probe in order of sending. `to_slots` converts it for replay; `vcgym.network.traces.trace_file` reads and writes
it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card
from vcgym.network.traces.coverage import usual_us
from vcgym.network.traces.reading import TraceError, refuse_first

MAX_DELAY_US = 60_000_000  # a longer delay indicates a wrong unit or a broken clock
MAX_SPAN_US = 86_400_000_000  # one day; a longer span indicates a wrong unit
MAX_TIME_US = 2**53  # whole microseconds are exact in a float64 below this
MAX_PROBES = MAX_SPAN_US // SLOT_US


@dataclass(frozen=True, eq=False)
class Trace:
    """Measured series, in order of sending.

    Attributes:
        name: name in errors and result rows.
        sent_us: int64 (n,), starts at 0, never decreases.
        one_way_delay_us: int64 (n,), delay in [0, MAX_DELAY_US], or LOST. For a ping this is the full round-trip time; `to_slots` takes the
            one-way share.
        card: source, licence, hash.
        round_trip: False if the delay was measured one way.
        start_us: time of the first probe on the clock of the log, such as since 1970; 0 if the log names none. Traces of one clock are of
            one moment (`offsets="common"` of scenario replay).
        notes: what an importer left out or changed, for its user; not kept in files.

    Raises:
        TraceError: wrong type or shape, empty, unsorted, negative or too long.
    """

    name: str
    sent_us: NDArray[np.int64]
    one_way_delay_us: NDArray[np.int64]
    card: Card
    round_trip: bool = True
    start_us: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sent, delay = self.sent_us, self.one_way_delay_us
        for field, values in (("sent_us", sent), ("one_way_delay_us", delay)):
            if values.dtype != np.int64 or values.ndim != 1 or len(values) != len(sent):
                raise TraceError(self.name, f"{field} dtype and shape", (str(values.dtype), values.shape), f"int64 ({len(sent)},)")
        if not len(sent):
            raise TraceError(self.name, "number of probes", 0, "at least 1")
        if abs(self.start_us) > MAX_TIME_US:
            raise TraceError(self.name, "start_us", self.start_us, f"-{MAX_TIME_US} to {MAX_TIME_US}")
        self._refuse_first("sent_us", np.append(sent[:1] < 0, sent[1:] < sent[:-1]), f"sorted, 0 to {MAX_SPAN_US}")
        if sent[0] != 0 or sent[-1] > MAX_SPAN_US:
            raise TraceError(self.name, "sent_us first and last", (int(sent[0]), int(sent[-1])), f"first 0, last at most {MAX_SPAN_US}")
        wrong = (delay != LOST) & ((delay < 0) | (delay > MAX_DELAY_US))
        self._refuse_first("one_way_delay_us", wrong, f"0 to {MAX_DELAY_US}, or {LOST} for lost")
        if np.all(delay == LOST):
            raise TraceError(self.name, "number of answered probes", 0, "at least 1")

    def _refuse_first(self, field: str, wrong: NDArray[np.bool_], allowed: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise TraceError(self.name, f"{field}[{at}]", int(getattr(self, field)[at]), allowed)


def to_slots(trace: Trace) -> NDArray[np.int64]:
    """Return one delay per 10-ms slot of send time, one way: half of a round trip, or all of a one-way delay.

    A slot has the delay or the loss of the last probe sent in it. A slot without probes repeats the last known delay (LOST before the first
    one), unless it is lost: a lost probe stands for the mean time between probes (without gaps), and loses its slot and those after it, up
    to the next probe. What does not fit there is carried to the next lost probe. So the lost share of slots is that of probes, whatever
    their spacing and however long a prober waits for a lost one. Left out: losses shorter than the spacing, which nobody measured; of
    `starlink_isl`, probed every 15 ms, 97 % of the losses are in runs of 0.4 to 0.5 s.

    Returns:
        int64 (last send time // SLOT_US + 1,): delay in whole microseconds, or LOST.
    """
    share = 0.5 if trace.round_trip else 1.0
    slot = trace.sent_us // SLOT_US
    answered = trace.one_way_delay_us != LOST
    value = np.full(slot[-1] + 1, LOST, np.int64)
    # With repeated indices numpy keeps the last assignment, here the last probe sent.
    value[slot[answered]] = np.rint(trace.one_way_delay_us[answered] * share).astype(np.int64)
    last_known = np.maximum.accumulate(np.where(value != LOST, np.arange(len(value)), -1))
    filled = np.where(last_known >= 0, value[last_known], LOST)
    filled[_lost_slots(trace, slot)] = LOST
    return filled


def _lost_slots(trace: Trace, slot: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for each slot that is lost, bool (slots,); `slot` (n,) has the slot of each probe."""
    lost = np.zeros(slot[-1] + 1, bool)
    free = np.append(slot[1:], slot[-1] + 1) - slot  # slots from a probe's own up to that of the next; 0 if both have one slot
    spacing_us = usual_us(trace.sent_us)
    total_us, probes_us, taken = int(spacing_us.sum()), max(len(spacing_us), 1) * SLOT_US, 0
    for number, at in enumerate(np.flatnonzero(trace.one_way_delay_us == LOST).tolist(), 1):
        length = min(max(number * total_us // probes_us - taken, 1), int(free[at]))
        lost[slot[at] : slot[at] + length] = True
        taken += length
    return lost


def refuse_long(file: Path, field: str, sent_us: NDArray[np.int64], lines: NDArray[np.integer]) -> None:
    """Reject send times (n,) of more than a day after the first, which is at 0; `lines` (n,) are their lines in the file."""
    refuse_first(file, field, sent_us > MAX_SPAN_US, sent_us, lines, f"at most {MAX_SPAN_US}")


def from_replies(
    name: str, file: Path, card: Card, lines: NDArray[np.integer], seq: NDArray[np.int64], sent_us: NDArray[np.int64],
    delay_us: NDArray[np.int64], round_trip: bool = True, start_us: int = 0,
) -> Trace:  # fmt: skip
    """Make a trace from answered probes; numbers missing in `seq` are lost and spaced evenly between their neighbours.

    Args:
        name: name of the trace.
        file: file name for errors.
        card: card of the file.
        lines: (n,) line of each answered probe in the file.
        seq: (n,) numbers of the answered probes, each once.
        sent_us: (n,) send times on any clock; overwritten.
        delay_us: (n,) delays; kept, not copied.
        round_trip: True if the delays are round trips, False if they are one-way delays.
        start_us: time of zero of `sent_us` on the log's clock.
    """
    if not len(seq):
        raise TraceError(file, "number of answered probes", 0, "at least 1")
    if (seq[1:] <= seq[:-1]).any():
        by_number = np.argsort(seq, kind="stable")
        seq = seq[by_number]
        twice = seq[1:] == seq[:-1]
        if twice.any():
            at = int(np.argmax(twice))
            first, again = lines[by_number[at : at + 2]]
            raise TraceError(file, f"line {again}, seq", int(seq[at]), f"each number answered once; line {first} has it too")
        sent_us, delay_us, lines = sent_us[by_number], delay_us[by_number], lines[by_number]
        del by_number
    if seq[-1] - seq[0] >= MAX_PROBES:
        raise TraceError(file, "seq first and last", (int(seq[0]), int(seq[-1])), f"fewer than {MAX_PROBES} apart")
    first_us = int(sent_us.min())
    sent_us -= first_us
    refuse_long(file, "us after the first", sent_us, lines)
    span = int(seq[-1] - seq[0]) + 1
    if span > len(seq):
        sent_us = np.rint(np.interp(np.arange(seq[0], seq[-1] + 1), seq, sent_us)).astype(np.int64)
        answered_us, delay_us = delay_us, np.full(span, LOST, np.int64)
        delay_us[seq - seq[0]] = answered_us
    if (sent_us[1:] < sent_us[:-1]).any():
        order = np.argsort(sent_us, kind="stable")
        sent_us, delay_us = sent_us[order], delay_us[order]
    return Trace(name, sent_us, delay_us, card, round_trip, start_us + first_us)
