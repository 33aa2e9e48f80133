"""Text logs of `fping -D`: pings of many hosts at one time, on one clock.

A line is a reply, `[STAMP] HOST : [3], 64 bytes, 20.3 ms (21.0 avg, 0% loss)`, or a loss, `[STAMP] HOST : [4], timed out (...)`. The stamp
is the time of the line. Of `fping -C`, whose lines are `HOST : 20.3 - 22.1`, the spacing must be given.

Left out: JSON (`-J`), and stamps in whole seconds (`--timestamp-format`).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.columns import Arrays, Table, blocks_of
from vcgym.network.traces.importers.units import sent_at, spacing_of
from vcgym.network.traces.reading import TraceError, lines, read_content
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_PROBES, MAX_TIME_US, Trace, from_replies

_FIELDS = ["time stamp", "host", "number", "time"]
_PING = re.compile(r"(?:\[([^]]+)\] )?(\S+(?: \([^)]*\))?) *: \[([0-9]+)\], (?:[0-9]+ bytes, ([^ ]+) ms|timed out)( .*)?")
_LIST = re.compile(r"(?:\[[^]]+\] )?(\S+(?: \([^)]*\))?) *:((?: (?:-|[0-9][-+.0-9e]*))+)")
_SPOILED = re.compile(r".* : \[[0-9]+\].*")
_EXPECTED = re.compile(r".* : (?:xmt/rcv/|duplicate for ).*|\[[0-9:]+\]|\s*ICMP .* from .*|")


def import_fping(path: str | Path, *, interval_ms: float | None = None, any_spacing: bool = False) -> dict[str, Trace]:
    """Read a trace of each host that replied from the log of one run of `fping`, plain, .gz or .xz.

    Send times are the stamps minus the round-trip time, so all traces have one clock. A ping that timed out, or whose number is missing, is
    lost; it is spaced evenly between its answered neighbours, and beyond them by their mean spacing.

    Args:
        path: the log.
        interval_ms: spacing of the pings of one host (`-p`), in `vcgym.network.traces.importers.units.SPACING_US`; only without stamps.
        any_spacing: True: `interval_ms` may be any.

    Returns:
        The traces by host, in the order of the log; their delays are round trips. `notes` of the first name the hosts without a reply, and
        count the lines that are not from `fping`.

    Raises:
        TraceError: an unreadable file, a ping that is not complete, a value out of range, no times, no reply, a number answered twice.
    """
    path = Path(path)
    content = read_content(path)
    log = _Log(path, content)
    blocks = [_numbers(block) for block in blocks_of(path, _FIELDS, log.pings())]
    columns = [np.concatenate(arrays) for arrays in zip(*blocks, strict=True)]
    if not columns or np.isnan(columns[4]).all():
        raise TraceError(path, "number of replies", 0, "at least 1, such as [1700000000.02] 192.0.2.1 : [0], 64 bytes, 20.3 ms (...)")
    spacing_us = spacing_of(path, interval_ms, any_spacing)
    traces, silent = {}, []
    for host, number in log.hosts.items():
        own = columns[2] == number
        if np.isnan(columns[4][own]).all():
            silent.append(host)
        else:
            traces[host] = _trace(path, content, host, [column[own] for column in columns], spacing_us)
    notes = [f"hosts without a reply: {', '.join(silent)}"] * bool(silent) + [f"lines without a ping: {log.passed:,}"] * bool(log.passed)
    first = next(iter(traces))
    return traces | {first: replace(traces[first], notes=tuple(notes))}


class _Log:
    """Reader of the lines of one run; `hosts` has the number of each host, `passed` counts the lines that are not from `fping`."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content
        self.hosts: dict[str, int] = {}
        self.passed = 0

    def pings(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line and `_FIELDS` of each ping, as text; a lost one has no time."""
        lists: dict[str, tuple[int, str]] = {}
        for line, text in enumerate(lines(self.path, self.content), 1):
            words = text.rstrip("\r\n")
            if ping := _PING.fullmatch(words):
                stamp, host, number, time, _ = ping.groups("")
                yield line, [stamp, self._host(host), number, time]
            elif times := _LIST.fullmatch(words):
                lists[times[1]] = line, times[2]
            elif not _EXPECTED.fullmatch(words):
                if _SPOILED.fullmatch(words) or words == text:
                    raise TraceError(self.path, f"line {line}", words, "a complete line of the output of fping -D")
                self.passed += 1
        for host, (line, text) in lists.items():
            if host not in self.hosts:  # otherwise the list repeats its pings
                for at, time in enumerate(text.split()):
                    yield line, ["", self._host(host), str(at), "" if time == "-" else time]

    def _host(self, name: str) -> str:
        return str(self.hosts.setdefault(name, len(self.hosts)))


def _numbers(block: Table) -> Arrays:
    """Return line, stamp, host, number and round-trip time of each ping; NaN for no stamp and no reply."""
    return (
        block.line_numbers(),
        block.numbers("time stamp", 0.0, MAX_TIME_US / 1e6, missing={""}),
        np.array(block.cells("host"), np.int32),
        block.whole_numbers("number", 0, 2**31),
        block.numbers("time", 0.0, MAX_DELAY_US / 1e3, missing={""}),
    )


def _trace(path: Path, content: bytes, host: str, columns: list[NDArray], spacing_us: float | None) -> Trace:
    every = columns[3]
    line, stamp_s, _, number, rtt_ms = (column[~np.isnan(columns[4])] for column in columns)
    rtt_us = np.rint(rtt_ms * 1e3).astype(np.int64)
    sent_us = sent_at(path, "fping", line, stamp_s, number, rtt_us, spacing_us)
    trace = from_replies(host, path, card_beside(path, content), line, number, sent_us, rtt_us)
    before, after = int(number.min() - every.min()), int(every.max() - number.max())
    return _with_lost_ends(path, trace, before, after, spacing_us)


def _with_lost_ends(path: Path, trace: Trace, before: int, after: int, spacing_us: float | None) -> Trace:
    """Return the trace with `before` and `after` lost probes at its ends."""
    probes = len(trace.sent_us)
    if before + after + probes > MAX_PROBES:
        raise TraceError(path, f"number of pings of {trace.name}", before + after + probes, f"at most {MAX_PROBES}")
    if spacing_us is None:
        if probes == 1:
            return trace  # of one time nobody knows the spacing
        spacing_us = float(trace.sent_us[-1]) / (probes - 1)
    at_us = np.rint(np.arange(-before, after + 1) * spacing_us).astype(np.int64)
    sent_us = np.concatenate([at_us[:before], trace.sent_us, trace.sent_us[-1] + at_us[before + 1 :]])
    delay_us = np.concatenate([np.full(before, LOST), trace.one_way_delay_us, np.full(after, LOST)])
    first_us = int(sent_us[0])
    return replace(trace, sent_us=sent_us - first_us, one_way_delay_us=delay_us, start_us=trace.start_us + first_us)
