"""Text logs of `ping`: Linux (iputils), with or without `-D` and `-O`; macOS and the BSDs; BusyBox.

Windows is left out: its replies carry no number and whole milliseconds in the language of the system, so neither order nor loss is known.
So are the clock times of macOS `--apple-time`, which have no day.
"""

import re
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.cards import card_beside
from vcgym.network.traces.importers.units import SPACING_US
from vcgym.network.traces.reading import MAX_CONTENT_BYTES, TraceError, decode, numbers, read_content
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies

_SEQ_MODULUS = 65_536  # RFC 792, echo message: the sequence number has 16 bits
_MAX_BEHIND = 1_024  # a reply this far behind the newest is late; further behind, the number has wrapped
_MIN_SPACING_US = 100  # no run of thousands of lost pings was sent faster than this
_STAMP_ERROR_US = 1_000_000  # a stamp is written when `ping` gets to run, which may be late

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

    line: NDArray[np.int64]
    stamp: list[str]  # empty where the log has none
    number: NDArray[np.int64]  # of 16 bits
    rtt_us: NDArray[np.int64]


class _Said(NamedTuple):
    """Counts of `ping` itself, from the line it ends with."""

    line: int
    sent: int
    answered: int


def import_ping_text(path: str | Path, *, interval_ms: float | None = None, limit_bytes: int = MAX_CONTENT_BYTES) -> Trace:
    """Read a trace from the log of one run of `ping`, plain or .gz.

    Send times come from the stamps of `ping -D` (seconds, when the reply was seen) less the round trip. A log without stamps carries no
    times: the spacing of its pings must then be given, and ping n is taken as sent at n * interval_ms.

    A number without a reply is a lost ping, whether or not the log says so, and is spaced evenly between its answered neighbours. Pings
    lost before the first or after the last answered one are left out; so are replies marked as duplicates. Numbers wrap at 65,536: an
    outage of more than about 64,500 pings cannot be told from a shorter one. What the log says of itself must agree: the counts it ends
    with, if they are there, with its replies, and its stamps with its numbers.

    Args:
        path: the log.
        interval_ms: spacing of the pings, in `SPACING_US`; only for a log without stamps.
        limit_bytes: largest unpacked size that is read.

    Returns:
        The trace; its delays are round trips.

    Raises:
        TraceError: an unreadable or truncated file, a line that is not of `ping`, a value out of range, no times, times that fall, no
            reply, a second run, counts or stamps that contradict the replies.
    """
    path = Path(path)
    content = read_content(path, limit_bytes)
    replies, said = _read(path, decode(path, content))
    if not len(replies.line):
        raise TraceError(path, "number of replies", 0, "at least 1")
    seq = _unwrapped(replies.number)
    if said is not None:
        _refuse_other_counts(path, said, len(seq), int(seq.max() - seq.min()) + 1)
    if interval_ms is None:
        sent_us = _stamps_us(path, replies) - replies.rtt_us
        _refuse_contradicting_stamps(path, replies.line, seq, sent_us)
    else:
        sent_us = np.rint(seq * _spacing_us(path, replies, interval_ms)).astype(np.int64)
    return from_replies(path.name.split(".")[0], path, card_beside(path, content), replies.line, seq, sent_us, replies.rtt_us)


def _read(path: Path, text: str) -> tuple[_Replies, _Said | None]:
    lines: list[int] = []
    fields: list[str] = []  # flat: a tuple per reply would keep the garbage collector busy
    others = []
    for line, words in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        reply = _REPLY.fullmatch(words)
        if reply is None:
            others.append((line, words.rstrip()))
        else:
            lines.append(line)
            fields += reply.groups("")
    said = _read_others(path, others)
    stamp, seq, rtt, again = (fields[i::4] for i in range(4))
    # Duplicates are checked like the others, then left out.
    number = numbers(path, "icmp_seq", seq, lines, 0, _SEQ_MODULUS - 1).astype(np.int64)
    rtt_us = np.rint(numbers(path, "time", rtt, lines, 0.0, MAX_DELAY_US / 1e3) * 1e3).astype(np.int64)
    first = np.array([not mark for mark in again], bool)
    return _Replies(np.array(lines, np.int64)[first], list(compress(stamp, first)), number[first], rtt_us[first]), said


def _read_others(path: Path, others: list[tuple[int, str]]) -> _Said | None:
    """Check the lines without a reply; what they say was sent and answered."""
    started, said = 0, None
    for line, words in others:
        if _START.fullmatch(words):
            if started:
                raise TraceError(path, f"line {line}", words[:200], f"one run of ping; line {started} begins one too")
            started = line
        elif summary := _SUMMARY.fullmatch(words):
            counts = numbers(path, "counts", summary.groups(), [line, line], 0, MAX_TIME_US)
            said = _Said(line, int(counts[0]), int(counts[1]))
        elif not _WITHOUT_REPLY.fullmatch(words):
            raise TraceError(path, f"line {line}", words[:200], "a whole line of the output of ping")
    return said


def _unwrapped(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    newest = int(numbers[0])
    whole = []
    for seq in numbers.tolist():
        ahead = (seq - newest) % _SEQ_MODULUS
        if ahead >= _SEQ_MODULUS - _MAX_BEHIND:
            ahead -= _SEQ_MODULUS
        whole.append(newest + ahead)
        newest = max(newest, newest + ahead)
    return np.array(whole, np.int64)


def _refuse_other_counts(path: Path, said: _Said, replies: int, span: int) -> None:
    if said.answered != replies:
        raise TraceError(path, f"line {said.line}, packets received", said.answered, f"{replies}, the number of replies in the file")
    if said.sent < span:
        raise TraceError(path, f"line {said.line}, packets transmitted", said.sent, f"at least {span}, as the numbers of the replies say")


def _stamps_us(path: Path, replies: _Replies) -> NDArray[np.int64]:
    text = replies.stamp
    if "" in text:
        line = replies.line[text.index("")]
        raise TraceError(path, f"line {line}, time stamp", None, "a stamp on every reply (ping -D), or interval_ms for a log without")
    stamps = np.rint(numbers(path, "time stamp", text, replies.line.tolist(), 0.0, MAX_TIME_US / 1e6) * 1e6).astype(np.int64)
    falls = np.flatnonzero(np.diff(stamps) < 0)
    if len(falls):
        at = int(falls[0]) + 1
        raise TraceError(path, f"line {replies.line[at]}, time stamp", text[at], f"at least {text[at - 1]}, the one before")
    return stamps


def _refuse_contradicting_stamps(path: Path, line: NDArray[np.int64], seq: NDArray[np.int64], sent_us: NDArray[np.int64]) -> None:
    """Refuse numbers that contradict the stamps: a higher one was sent later, and many lost between two took their time."""
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
    for line, stamp in zip(replies.line, replies.stamp, strict=True):
        if stamp:
            raise TraceError(path, f"line {line}, time stamp", stamp, "no stamps when interval_ms is given")
    return interval_ms * 1e3
