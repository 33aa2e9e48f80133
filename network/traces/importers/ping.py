"""Text logs of `ping`: Linux (iputils), with or without `-D` and `-O`, in any language; macOS and the BSDs; BusyBox.

Left out: Windows, whose replies have no number, whole milliseconds and localised text, so neither order nor loss is known; and the clock
times of macOS `--apple-time`, which have no date.
"""

from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.columns import Arrays, Table, blocks_of, joined
from vcgym.network.traces.importers.ping_lines import CORRUPT, FIELDS, PingLines, addresses
from vcgym.network.traces.importers.units import sent_at, spacing_of
from vcgym.network.traces.reading import TraceError, is_number, read_content, refuse_falling, refuse_first
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies

_SEQ_MODULUS = 65_536  # RFC 792, echo message: the sequence number has 16 bits
_MAX_BEHIND = 1_024  # a reply at most this far behind the newest is late; beyond that, the number has wrapped
_MIN_SPACING_US = 100  # minimum spacing assumed for runs of thousands of lost pings
_STAMP_ERROR_US = 1_000_000  # `ping` may be scheduled late and write a late stamp


class _Replies(NamedTuple):
    """Replies in a log; one entry per reply, in order of the log."""

    line: NDArray[np.int32]
    stamp_s: NDArray[np.float64]  # NaN if the log has none
    number: NDArray[np.int32]  # of 16 bits
    rtt_ms: NDArray[np.float64]
    marked: NDArray[np.bool_]  # as a duplicate
    corrupt: NDArray[np.bool_]
    host: NDArray[np.int32]

    def pick(self, mask: NDArray[np.bool_]) -> "_Replies":
        """Return the replies with a true `mask`."""
        return _Replies._make(column[mask] for column in self)


def import_ping_text(path: str | Path, *, interval_ms: float | None = None, any_spacing: bool = False) -> Trace:
    """Read a trace from the log of one run of `ping`, plain, .gz or .xz.

    Send times are the stamps of `ping -D` (seconds since 1970, or ISO 8601 with a fraction; at the reply) minus the round-trip time. A log
    without stamps has no times: then the spacing of its pings must be given, and ping n counts as sent at n * interval_ms.

    A number without a reply is a lost ping, even if the log does not mention it, and is spaced evenly between its answered neighbours.
    Pings lost before the first or after the last answered one are left out. So are replies of another host or process, which macOS prints
    (the host is that of the header, or of the first reply), duplicates, replies marked as corrupt, and replies after 0 ms, which iputils
    prints when the clock was set. `notes` of the trace counts them, and the lines that are not from `ping`. Numbers wrap at 65,536: an
    outage of more than about 64,500 pings cannot be distinguished from a shorter one. The log must be consistent: its final counts, if
    present, with its replies, and its stamps with its numbers.

    Args:
        path: the log.
        interval_ms: spacing of the pings, in `vcgym.network.traces.importers.units.SPACING_US`; only for a log without stamps.
        any_spacing: True: `interval_ms` may be any.

    Returns:
        The trace; its delays are round trips.

    Raises:
        TraceError: an unreadable or truncated file, a reply that is not complete, a value out of range, no times, times that decrease,
            no reply, a second run, counts or stamps that contradict the replies.
    """
    path = Path(path)
    content = read_content(path)
    log = PingLines(path, content)
    columns = joined(map(_numbers, blocks_of(path, FIELDS, log.replies())), content)
    if not columns or not len(columns[0]):
        raise TraceError(path, "number of replies", 0, "at least 1")
    every = _Replies(*columns)
    own = _of_target(log, every)
    replies, seq = _once_each(path, every.pick(own & ~every.corrupt))
    rtt_us = np.rint(replies.rtt_ms * 1e3).astype(np.int64)
    _refuse_other_counts(path, log, len(every.line), len(seq), int(seq.max() - seq.min()) + 1)
    sent_us = sent_at(path, "ping", replies.line, replies.stamp_s, seq, rtt_us, spacing_of(path, interval_ms, any_spacing))
    if interval_ms is None:
        refuse_falling(path, "time stamp", replies.stamp_s, replies.line)
        _refuse_contradicting_stamps(path, replies.line, seq, sent_us)
    trace = from_replies(path.name.split(".")[0], path, card_beside(path, content), replies.line, seq, sent_us, rtt_us)
    again = int(np.count_nonzero(own & ~every.corrupt)) - len(seq)
    return replace(trace, notes=_notes(int(np.count_nonzero(~own)), int(np.count_nonzero(own & every.corrupt)), again, log.passed))


def _numbers(block: Table) -> Arrays:
    """Return the fields of `_Replies`."""
    number = block.numbers("icmp_seq", 0, _SEQ_MODULUS - 1).astype(np.int32)
    times = block.cells("time")
    long = {time for time in times if is_number(time) and float(time) > MAX_DELAY_US / 1e3}  # allowed of another process
    rtt_ms = block.numbers("time", 0.0, MAX_DELAY_US / 1e3, missing=long)
    if long:
        rtt_ms[np.isnan(rtt_ms)] = [float(time) for time in times if time in long]
    stamp_s = block.numbers("time stamp", 0.0, MAX_TIME_US / 1e6, missing={""})
    marks = block.cells("mark")
    marked, corrupt = np.array([mark != "" for mark in marks]), np.array([mark == CORRUPT for mark in marks])
    return block.line_numbers(), stamp_s, number, rtt_ms, marked, corrupt, np.array(block.cells("host"), np.int32)


def _of_target(log: PingLines, replies: _Replies) -> NDArray[np.bool_]:
    """Return True for each reply of the host that was pinged, to this process.

    The host is that of the header if it replied, else that of the first reply; a name cannot be compared with an address, and counts as
    one of the host. A reply is another process's if most replies of the host have one other size.
    """
    senders = list(log.hosts)
    hosts = [sender.host for sender in senders]
    target = log.target if log.target in hosts else hosts[replies.host[0]]
    own = np.array([host == target or bool(addresses(host)) != bool(addresses(target)) for host in hosts])
    sizes = Counter({sender.size: 0 for sender in senders})
    for sender, count in zip(senders, np.bincount(replies.host, minlength=len(senders)) * own, strict=True):
        sizes[sender.size] += int(count)
    size, count = sizes.most_common(1)[0]
    if 2 * count > sizes.total():
        own &= np.array([sender.size == size for sender in senders])
    return own[replies.host]


def _once_each(path: Path, replies: _Replies) -> tuple[_Replies, NDArray[np.int64]]:
    """Return the replies with a time, each number once, and their unwrapped numbers.

    A reply marked as a duplicate is left out if its number has another one: after a reply of another host, macOS marks the own one.
    """
    if not len(replies.line):
        raise TraceError(path, "number of replies", 0, "at least 1")
    seq = _unwrapped(replies.number)
    first = ~replies.marked
    if not first.all():
        order = np.lexsort((np.arange(len(seq)), replies.marked, seq))
        first[order] |= np.append(True, np.diff(seq[order]) > 0)
    wrong = first & ~replies.marked & (replies.rtt_ms > MAX_DELAY_US / 1e3)
    refuse_first(path, "time", wrong, replies.rtt_ms, replies.line, f"a number from 0 to {MAX_DELAY_US / 1e3:g}")
    kept = first & (replies.rtt_ms > 0.0) & (replies.rtt_ms <= MAX_DELAY_US / 1e3)
    if not kept.any():
        raise TraceError(path, "number of replies after more than 0 ms", 0, "at least 1")
    return replies.pick(kept), seq[kept]


def _notes(foreign: int, corrupt: int, again: int, passed: int) -> tuple[str, ...]:
    counts = {
        "left out of other hosts or processes": foreign,
        "left out as corrupt": corrupt,
        "left out as repeated or of 0 ms": again,
        "lines without a reply": passed,
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)


def _unwrapped(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    newest = int(numbers[0])
    whole = array("q")
    for seq in numbers.data:
        ahead = (seq - newest) % _SEQ_MODULUS
        if ahead >= _SEQ_MODULUS - _MAX_BEHIND:
            ahead -= _SEQ_MODULUS
        whole.append(newest + ahead)
        newest = max(newest, newest + ahead)
    return np.frombuffer(whole, np.int64)


def _refuse_other_counts(path: Path, log: PingLines, shown: int, answered: int, span: int) -> None:
    """Reject final counts that contradict the replies; programs count repeated, corrupt, foreign and late replies in different ways."""
    if (stated := log.counts) is None:
        return
    others = shown - answered + stated.hidden
    if abs(stated.answered - answered) > others:
        least = f"{answered - others} to " if others else ""
        allowed = f"{least}{answered + others}, the number of replies in the file"
        raise TraceError(path, f"line {stated.line}, packets received", stated.answered, allowed)
    if stated.sent < span:
        raise TraceError(path, f"line {stated.line}, packets transmitted", stated.sent, f"at least {span}, according to the reply numbers")


def _refuse_contradicting_stamps(path: Path, line: NDArray[np.int32], seq: NDArray[np.int64], sent_us: NDArray[np.int64]) -> None:
    """Reject numbers that contradict the stamps: higher numbers were sent later, and many losses between two numbers took time."""
    by_number = np.argsort(seq, kind="stable")
    apart = np.maximum(np.diff(seq[by_number]) - 1, 0)
    short = np.flatnonzero(np.diff(sent_us[by_number]) < apart * _MIN_SPACING_US - _STAMP_ERROR_US)
    if len(short):
        at, before = int(by_number[short[0] + 1]), int(by_number[short[0]])
        took = int(sent_us[at] - sent_us[before])
        allowed = f"one that fits the stamps: it was sent {took} us after number {seq[before] % _SEQ_MODULUS} (line {line[before]})"
        raise TraceError(path, f"line {line[at]}, icmp_seq", int(seq[at] % _SEQ_MODULUS), allowed)
