"""Text logs of `ping`: Linux (iputils), with or without `-D` and `-O`; macOS and the BSDs; BusyBox.

Left out: Windows, whose replies have no number, whole milliseconds and localised text, so neither order nor loss is known; and the clock
times of macOS `--apple-time`, which have no date.
"""

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.columns import Arrays, Table, blocks_of, joined
from vcgym.network.traces.importers.units import SPACING_US
from vcgym.network.traces.reading import MAX_CONTENT_BYTES, TraceError, lines, numbers, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies

_SEQ_MODULUS = 65_536  # RFC 792, echo message: the sequence number has 16 bits
_MAX_BEHIND = 1_024  # a reply at most this far behind the newest is late; beyond that, the number has wrapped
_MIN_SPACING_US = 100  # minimum spacing assumed for runs of thousands of lost pings
_STAMP_ERROR_US = 1_000_000  # `ping` may be scheduled late and write a late stamp

_FIELDS = ["time stamp", "icmp_seq", "time", "again"]
_REPLY = re.compile(
    r"(?:\[([^]]+)\] )?[0-9]+ bytes from [^ ]+(?: \([^ ]*\))?[:,] (?:icmp_)?(?:seq|req)=([0-9]+)(?: (?:ttl|hlim)=[0-9]+)?"
    r" time=([^ ]+) ms( \(DUP!\))?\s*"
)
_START = re.compile(r"PING6?.*")
_SUMMARY = re.compile(r"([0-9]+) packets transmitted, ([0-9]+) (?:packets )?received.*")
_WITHOUT_REPLY = re.compile(
    r"(?:\[[^]]*\] )?(?:no answer yet for icmp_seq=[0-9]+|From .+ icmp_seq=[0-9]+ .+|Request timeout for icmp_seq [0-9]+)"
    r"|(?:\^C)?--- .* ping6? statistics ---|(?:rtt|round-trip) min/avg/max.*|ping6?: .*|"
)


class _Replies(NamedTuple):
    """Replies in a log, without duplicates; one entry per reply, in order of the log."""

    line: NDArray[np.int32]
    stamp_s: NDArray[np.float64]  # NaN if the log has none
    number: NDArray[np.int32]  # of 16 bits
    rtt_us: NDArray[np.int64]


class _Header(NamedTuple):
    """Counts in the last line of `ping`."""

    line: int
    sent: int
    answered: int


def import_ping_text(path: str | Path, *, interval_ms: float | None = None, limit_bytes: int = MAX_CONTENT_BYTES) -> Trace:
    """Read a trace from the log of one run of `ping`, plain, .gz or .xz.

    Send times are the stamps of `ping -D` (seconds, at the reply) minus the round-trip time. A log without stamps has no times: then the
    spacing of its pings must be given, and ping n counts as sent at n * interval_ms.

    A number without a reply is a lost ping, even if the log does not mention it, and is spaced evenly between its answered neighbours.
    Pings lost before the first or after the last answered one are left out, and so are replies marked as duplicates. Numbers wrap at
    65,536: an outage of more than about 64,500 pings cannot be distinguished from a shorter one. The log must be consistent: its final
    counts, if present, with its replies, and its stamps with its numbers.

    Args:
        path: the log.
        interval_ms: spacing of the pings, in `SPACING_US`; only for a log without stamps.
        limit_bytes: maximum uncompressed size.

    Returns:
        The trace; its delays are round trips.

    Raises:
        TraceError: an unreadable or truncated file, a line that is not from `ping`, a value out of range, no times, times that decrease,
            no reply, a second run, counts or stamps that contradict the replies.
    """
    path = Path(path)
    content = read_content(path, limit_bytes)
    replies, stated = _read(path, content)
    seq = _unwrapped(replies.number)
    if stated is not None:
        _refuse_other_counts(path, stated, len(seq), int(seq.max() - seq.min()) + 1)
    if interval_ms is None:
        sent_us = _stamps_us(path, replies) - replies.rtt_us
        _refuse_contradicting_stamps(path, replies.line, seq, sent_us)
    else:
        sent_us = np.rint(seq * _spacing_us(path, replies, interval_ms)).astype(np.int64)
    return from_replies(path.name.split(".")[0], path, card_beside(path, content), replies.line, seq, sent_us, replies.rtt_us)


def _read(path: Path, content: bytes) -> tuple[_Replies, _Header | None]:
    others = _Others(path)
    columns = joined(map(_numbers, blocks_of(path, _FIELDS, _reply_rows(path, content, others))), content)
    if not columns or not len(columns[0]):
        raise TraceError(path, "number of replies", 0, "at least 1")
    return _Replies(*columns), others.said


def _reply_rows(path: Path, content: bytes, others: "_Others") -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(lines(path, content), 1):
        words = text.rstrip("\r\n")
        if reply := _REPLY.fullmatch(words):
            yield line, list(reply.groups(""))
        elif words:
            others.check(line, words.rstrip())


def _numbers(block: Table) -> Arrays:
    """Return the fields of `_Replies`; duplicates are validated, then left out."""
    number = block.numbers("icmp_seq", 0, _SEQ_MODULUS - 1).astype(np.int32)
    rtt_us = np.rint(block.numbers("time", 0.0, MAX_DELAY_US / 1e3) * 1e3).astype(np.int64)
    stamp_s = block.numbers("time stamp", 0.0, MAX_TIME_US / 1e6, missing={""})
    first = np.array([not mark for mark in block.cells("again")])
    return block.line_numbers()[first], stamp_s[first], number[first], rtt_us[first]


class _Others:
    """Checker of lines without a reply; `stated` contains the counts that `ping` reports in them."""

    def __init__(self, path: Path):
        self.path = path
        self.started = 0
        self.said: _Header | None = None

    def check(self, line: int, words: str) -> None:
        """Reject a line that is not from `ping`, and a second run."""
        if _START.fullmatch(words):
            if self.started:
                raise TraceError(self.path, f"line {line}", words, f"a single run of ping; line {self.started} starts another")
            self.started = line
        elif summary := _SUMMARY.fullmatch(words):
            counts = numbers(self.path, "counts", summary.groups(), [line, line], 0, MAX_TIME_US)
            self.said = _Header(line, int(counts[0]), int(counts[1]))
        elif not _WITHOUT_REPLY.fullmatch(words):
            raise TraceError(self.path, f"line {line}", words, "a complete line of the output of ping")


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


def _refuse_other_counts(path: Path, stated: _Header, replies: int, span: int) -> None:
    if stated.answered != replies:
        raise TraceError(path, f"line {stated.line}, packets received", stated.answered, f"{replies}, the number of replies in the file")
    if stated.sent < span:
        raise TraceError(path, f"line {stated.line}, packets transmitted", stated.sent, f"at least {span}, according to the reply numbers")


def _stamps_us(path: Path, replies: _Replies) -> NDArray[np.int64]:
    without = np.isnan(replies.stamp_s)
    if without.any():
        allowed = "a stamp on every reply (ping -D), or interval_ms for a log without"
        raise TraceError(path, f"line {replies.line[np.argmax(without)]}, time stamp", None, allowed)
    refuse_falling(path, "time stamp", replies.stamp_s, replies.line)
    return np.rint(replies.stamp_s * 1e6).astype(np.int64)


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


def _spacing_us(path: Path, replies: _Replies, interval_ms: float) -> float:
    low, high = (spacing_us / 1e3 for spacing_us in SPACING_US)
    if not low <= interval_ms <= high:
        raise TraceError(path, "interval_ms", interval_ms, f"{low} to {high} (milliseconds)")
    stamped = np.flatnonzero(~np.isnan(replies.stamp_s))
    if len(stamped):
        at = int(stamped[0])
        raise TraceError(path, f"line {replies.line[at]}, time stamp", replies.stamp_s[at].item(), "no stamps when interval_ms is given")
    return interval_ms * 1e3
