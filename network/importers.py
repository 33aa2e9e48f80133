"""Traces from what people have at hand: text logs of `ping`, and CSV of time and delay.

Nothing is guessed: a line that is not understood, a value out of range or a missing time is refused with file, line, field, value and
range.
"""

import re
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from vcgym.network.cards import card_beside
from vcgym.network.traces import (
    MAX_CONTENT_BYTES,
    MAX_DELAY_US,
    MAX_TIME_US,
    Trace,
    TraceError,
    decode,
    from_replies,
    number,
    read_content,
    read_table,
)
from vcgym.network.world import LOST

_UNIT_US = {"s": 1e6, "ms": 1e3, "us": 1.0}

_SEQ_MODULUS = 65_536  # RFC 792, echo message: the sequence number has 16 bits
_MAX_BEHIND = 1_024  # a reply this far behind the newest is late; further behind, the number has wrapped

_REPLY = re.compile(
    r"(?:\[(?P<stamp>[^]]*)\] )?[0-9]+ bytes from [^ ].*?[:,] icmp_(?:seq|req)=(?P<seq>[0-9]+)(?: (?:ttl|hlim)=[0-9]+)?"
    r" time=(?P<rtt>[^ ]+) ms(?P<again> \(DUP!\))?"
)
_WITHOUT_REPLY = re.compile(
    r"(?:\[[^]]*\] )?(?:no answer yet for icmp_seq=[0-9]+|From .+ icmp_seq=[0-9]+ .+|Request timeout for icmp_seq [0-9]+)"
    r"|PING6?.*|(?:\^C)?--- .* ping6? statistics ---|[0-9]+ packets transmitted, .*|(?:rtt|round-trip) min/avg/max.*|ping6?: .*|"
)


class _Reply(NamedTuple):
    line: int
    stamp: str | None
    seq: int
    rtt_us: int


def import_ping_text(path: str | Path, *, interval_ms: float | None = None, limit_bytes: int = MAX_CONTENT_BYTES) -> Trace:
    """A trace from a log of Linux (iputils) or macOS `ping`, plain or .gz.

    Send times come from the stamps of `ping -D` (seconds, when the reply was seen) less the round trip. A log without stamps carries no
    times: the spacing of its pings must then be given, and ping n is taken as sent at n * interval_ms.

    A number without a reply is a lost ping, whether or not the log says so, and is spaced evenly between its answered neighbours. Pings
    lost before the first or after the last answered one are left out; so are replies marked as duplicates. Numbers wrap at 65,536: an
    outage of more than about 64,500 pings cannot be told from a shorter one.

    Args:
        path: the log.
        interval_ms: spacing of the pings, above 0 and at most 60,000; only for a log without stamps.
        limit_bytes: largest unpacked size that is read.

    Returns:
        The trace; its delays are round trips.

    Raises:
        TraceError: an unreadable or truncated file, a line that is not of `ping`, a value out of range, no times, times that fall, no
            reply.
    """
    path = Path(path)
    content = read_content(path, limit_bytes)
    replies = _replies(path, decode(path, content))
    if not replies:
        raise TraceError(path, "number of replies", 0, "at least 1")
    seq = _unwrapped([reply.seq for reply in replies])
    rtt_us = np.array([reply.rtt_us for reply in replies], np.int64)
    if interval_ms is None:
        sent_us = _stamps_us(path, replies) - rtt_us
    else:
        sent_us = np.rint(seq * _spacing_us(path, replies, interval_ms)).astype(np.int64)
    return from_replies(path.name.split(".")[0], path, card_beside(path, content), seq, sent_us, rtt_us)


def _replies(path: Path, text: str) -> list[_Reply]:
    replies = []
    for line, words in enumerate(text.split("\n"), start=1):
        found = _REPLY.fullmatch(words.rstrip())
        if found is None:
            if _WITHOUT_REPLY.fullmatch(words.rstrip()) is None:
                raise TraceError(path, f"line {line}", words[:200], "a whole line of the output of ping")
            continue
        seq = number(path, f"line {line}, icmp_seq", found["seq"], 0, _SEQ_MODULUS - 1)
        rtt_ms = number(path, f"line {line}, time", found["rtt"], 0.0, MAX_DELAY_US / 1e3)
        if not found["again"]:
            replies.append(_Reply(line, found["stamp"], int(seq), round(rtt_ms * 1e3)))
    return replies


def _unwrapped(numbers: list[int]) -> np.ndarray:
    newest = numbers[0]
    whole = []
    for seq in numbers:
        ahead = (seq - newest) % _SEQ_MODULUS
        if ahead >= _SEQ_MODULUS - _MAX_BEHIND:
            ahead -= _SEQ_MODULUS
        whole.append(newest + ahead)
        newest = max(newest, newest + ahead)
    return np.array(whole, np.int64)


def _stamps_us(path: Path, replies: list[_Reply]) -> np.ndarray:
    stamps = np.empty(len(replies), np.int64)
    for i, reply in enumerate(replies):
        if reply.stamp is None:
            raise TraceError(
                path, f"line {reply.line}, time stamp", None, "a stamp on every reply (ping -D), or interval_ms for a log without"
            )
        stamps[i] = round(number(path, f"line {reply.line}, time stamp", reply.stamp, 0.0, MAX_TIME_US / 1e6) * 1e6)
        if i and stamps[i] < stamps[i - 1]:
            raise TraceError(path, f"line {reply.line}, time stamp", reply.stamp, f"at least {replies[i - 1].stamp}, the one before")
    return stamps


def _spacing_us(path: Path, replies: list[_Reply], interval_ms: float) -> float:
    if not 0.0 < interval_ms <= 60_000.0:
        raise TraceError(path, "interval_ms", interval_ms, "above 0, at most 60000")
    for reply in replies:
        if reply.stamp is not None:
            raise TraceError(path, f"line {reply.line}, time stamp", reply.stamp, "no stamps when interval_ms is given")
    return interval_ms * 1e3


def import_csv(
    path: str | Path, time_column: str, delay_column: str, unit: Literal["s", "ms", "us"], *, limit_bytes: int = MAX_CONTENT_BYTES
) -> Trace:
    """A trace from a CSV file, plain or .gz, whose first line names the columns.

    A plain file cut off at the end of a row, or within its last number, looks whole; only a card beside it (its hash) can tell.

    Args:
        path: the file.
        time_column: send time on any clock, never falling; the first becomes 0.
        delay_column: delay, 0 to 60 s; an empty cell is a lost probe.
        unit: of both columns.
        limit_bytes: largest unpacked size that is read.

    Raises:
        TraceError: an unreadable or truncated file, no such column, NaN, a value out of range, no times, times that fall, no answered
            probe.
    """
    path = Path(path)
    if unit not in _UNIT_US:
        raise TraceError(path, "unit", unit, ", ".join(_UNIT_US))
    scale = _UNIT_US[unit]
    content = read_content(path, limit_bytes)
    table = read_table(path, content)
    time = table.numbers(time_column, -MAX_TIME_US / scale, MAX_TIME_US / scale)
    table.refuse_falling(time_column, time)
    delay = table.numbers(delay_column, 0.0, MAX_DELAY_US / scale, may_be_empty=True)
    sent_us = np.rint(time * scale).astype(np.int64)
    delay_us = np.where(np.isnan(delay), LOST, np.rint(np.nan_to_num(delay) * scale)).astype(np.int64)
    return Trace(path.name.split(".")[0], sent_us - sent_us[0], delay_us, card_beside(path, content))
