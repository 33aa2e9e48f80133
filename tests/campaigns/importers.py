"""Malformed lines and handmade files for all readers of measured data.

A file is accepted, or rejected by a DataError of one line and at most 300 characters that names the file and the allowed values; memory
stays below ten times the content. Two forms expand by design and have their own bounds: packets counted by a line, and numbers skipped by a
line.
"""

import ctypes
import gc
import gzip
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from campaigns import Case
from vcgym.network.bottleneck.capacity.files import import_throughput, read_capacity, read_mahimahi
from vcgym.network.traces.cards import MAX_MESSAGE, DataError
from vcgym.network.traces.importers.fping import import_fping
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.network.traces.importers.rtp import import_rtp
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.importers.wonderproxy import import_grouped, import_raw
from vcgym.network.traces.trace_file import read_trace

LINES = {"small": 6_500, "medium": 65_000, "full": 1_000_000}  # malformed ones
CONTENT_BYTES = {"small": 2**20, "medium": 2**22, "full": 2**23}  # of a handmade file
ROWS = 12  # of a file with one malformed line
MAX_RATIO = 10.0
FLOOR_BYTES = 2**23  # blocks of text and Python's own arenas beside it
MAX_S_PER_MIB = 15.0

CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "-1", "-0", "1e999", "1e-999", "0.5", "9" * 5_000, "1_0", "\uff12\uff15", "0x10", "2\x005",
    "25,5", "--1", "1e", ".", "+", "TRUE", "None", "\U0001f600", "\x1b[31mred", '"', '""', "'", ";", "\t", "\ufeff1", "=1+1",
    "../../etc/passwd", "%s%n", "{0}", "\u2028", "\u0661", "1 2", "1\r2", "x" * 70_000, "65536", "4294967296", "1e15",
    "99999999999999999999", "2020-02-31 00:00:00.000", "NaT",
)  # fmt: skip
HANDMADE = {
    "nothing": lambda header, line, size: b"",
    "one blank line": lambda header, line, size: b"\n",
    "blank lines": lambda header, line, size: b"\n" * size,
    "blank lines, CR": lambda header, line, size: b"\r" * size,
    "blank lines below a header": lambda header, line, size: header + b"\n" * size,
    "one long line": lambda header, line, size: header + b"1" * size + b"\n",
    "one long line of text beyond 16 bits": lambda header, line, size: "\U0001f600".encode() + b"1" * size + b"\n",
    "one long header": lambda header, line, size: b",".join(b"%d" % i for i in range(size // 8)) + b"\n1\n",
    "commas": lambda header, line, size: b"," * size + b"\n",
    "quotes": lambda header, line, size: header + b'"' * size + b"\n",
    "a quote that never ends": lambda header, line, size: header + b'"' + b"1\n" * (size // 2),
    "NUL": lambda header, line, size: b"\0" * size,
    "NUL lines": lambda header, line, size: header + b"\0\n" * (size // 2),
    "shortest rows": lambda header, line, size: header + (b",".join([b"1"] * (header.count(b",") + 1)) + b"\n") * (size // 8),
    "shortest rows of empty cells": lambda header, line, size: header + (b"," * header.count(b",") + b"\n") * (size // 4),
    "shortest rows, cells empty but the first": lambda header, line, size: (
        header + line(0) + (b"0" + b"," * header.count(b",") + b"\n") * (size // 4)
    ),
    "the same line for ever": lambda header, line, size: header + line(1) * (size // len(line(1))),
    "a whole file": lambda header, line, size: header + b"".join(line(i) for i in range(size // len(line(1)))),
    "a whole file, its last line twice": lambda header, line, size: (
        header + b"".join(line(i) for i in range(size // len(line(1)))) + line(size // len(line(1)) - 1)
    ),
    "whole lines with a blank line after each": lambda header, line, size: (
        header + b"".join(line(i) + b"\n" for i in range(size // len(line(1))))
    ),
    "whole lines, not text at the end": lambda header, line, size: (
        header + b"".join(line(i) for i in range(size // len(line(1)))) + b"\xff\n"
    ),
    "UTF-16": lambda header, line, size: (header + line(1) * 50).decode().encode("utf-16"),
    "every byte": lambda header, line, size: bytes(range(256)) * (size // 256),
    "noise": lambda header, line, size: random.Random(1).randbytes(size),
    "noise of printable text": lambda header, line, size: bytes(random.Random(2).choices(b"0123456789.,-\n eE", k=size)),
    "ESC and bidirectional marks": lambda header, line, size: header + ("\u202e\x1b]0;title\x07" * 40 + "\n").encode() * (size // 400),
}


STARTED_S = 1_600_000_000
MS = {"time_unit": "ms", "delay_unit": "ms", "round_trip": True, "time_column": "t", "delay_column": "d"}


class Reader(NamedTuple):
    """Reader of a format; `line(i)` is line i of a valid file below its `header`."""

    read: Callable[[Path], Any]
    header: str
    line: Callable[[int], str]


def _rtp(path):
    return import_rtp(path, sample_rate_hz=48_000).to_trace(floor_ms=10.0)


def _reply(i):
    return f"64 bytes from 192.0.2.1: icmp_seq={i % 65_536} ttl=57 time={20 + i % 7}.5 ms"


def _bursts(i, time=""):
    return f"{i % 900},{i // 900},{time}20.1,25.2,30.3,1.4"


READERS = {
    "ping with stamps": Reader(
        import_ping_text, "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", lambda i: f"[{STARTED_S + i / 50:.6f}] {_reply(i)}"
    ),
    "ping without stamps": Reader(partial(import_ping_text, interval_ms=20.0), "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", _reply),
    "fping": Reader(
        import_fping,
        "nohup: ignoring input",
        lambda i: f"[{STARTED_S + i / 50:.5f}] 192.0.2.1 : [{i}], 64 bytes, {20 + i % 7}.5 ms (21.0 avg, 0% loss)",
    ),
    "csv": Reader(partial(import_csv, **MS), "t,d", lambda i: f"{i * 10},{20 + i % 9}"),
    "rtp": Reader(
        _rtp,
        "frame.time_epoch,rtp.seq,rtp.timestamp",
        lambda i: f"{STARTED_S + i / 50 + i % 3 / 1000:.6f},{i % 65_536},{i * 960 % 2**32}",
    ),
    "mahimahi": Reader(read_mahimahi, "0", str),
    "throughput": Reader(
        partial(import_throughput, time_column="t", time_unit="s", rate_column="r", rate_unit="Mbps"), "t,r", lambda i: f"{i},{1 + i % 5}"
    ),
    "wonderproxy_raw": Reader(
        import_raw, "source,destination,timestamp,min,avg,max,mdev", lambda i: _bursts(i, f"2020-07-19 00:{i % 60:02d}:17.000,")
    ),
    "wonderproxy_grouped": Reader(import_grouped, "source,destination,min,avg,max,mdev", _bursts),
    "series": Reader(read_trace, "sent_ms,rtt_ms", lambda i: f"{i * 10}.{i % 9}00,{20 + i % 9}.5"),
    "series by arrival": Reader(read_trace, "t_ms,rtt_ms,seq", lambda i: f"{i * 10 + 50},{20 + i % 7},{i}"),
    "capacity, counted": Reader(read_capacity, "ms,packets", lambda i: f"{i},{i % 3}"),
    "capacity, rates": Reader(read_capacity, "t_s,mbps", lambda i: f"{i},{1 + i % 5}"),
    "capacity, named": Reader(read_capacity, "trace,t_s,mbps", lambda i: f"drive{i % 4},{i},{1 + i % 5}"),
}


def run(scale, folder):
    """Yield a case for each reader with malformed lines, and one for each reader and kind of handmade file."""
    for name, reader in READERS.items():
        yield _malformed(name, reader, LINES[scale] // len(READERS), folder)
    for name, reader in READERS.items():
        yield from _handmade(name, reader, CONTENT_BYTES[scale], folder)


def _malformed(name, reader, count, folder):
    """Corrupt one line of a valid file, `count` times."""
    rng = random.Random(name)
    path = folder / "spoiled.csv"
    outcomes, longest, wrong = Counter(), 0, []
    for _ in range(count):
        lines = [reader.header, *(reader.line(i) for i in range(ROWS))]
        at = rng.randrange(1, ROWS)
        lines[at + 1] = _spoiled(lines[at + 1], rng)
        path.write_text("\n".join([*lines, ""]), encoding="utf-8", errors="surrogatepass", newline="")
        outcome, message = _read(reader, path)
        outcomes["line named" if outcome == "refused" and re.search(r"line [0-9]+", message) else outcome] += 1
        longest = max(longest, len(message))
        if not _held(outcome, message, path):
            wrong.append((lines[at + 1][:60], outcome, message[:200]))
    found = {"files": count, **outcomes, "longest message": longest, "first that did not hold": str(wrong[0]) if wrong else ""}
    return Case(f"{name}: one malformed line", not wrong, found)


def _spoiled(line, rng):
    kind = rng.randrange(8)
    if kind == 0:
        return line[: rng.randrange(len(line))]
    if kind == 1:
        return line[::-1]
    if kind == 2:
        at = rng.randrange(len(line))
        return line[:at] + chr(rng.randrange(0xD800)) + line[at + 1 :]
    if kind == 3:
        return f"{line}{rng.choice(',; =')}{line}"
    parts = re.split(r"([ ,=\[\]]+)", line)
    at = rng.randrange(0, len(parts), 2)
    return "".join([*parts[:at], rng.choice(CELLS), *parts[at + 1 :]])


def _handmade(name, reader, size, folder):
    header, line = f"{reader.header}\n".encode(), lambda i: f"{reader.line(i)}\n".encode()
    for kind, content_of in HANDMADE.items():
        content = content_of(header, line, size)
        content_bytes = len(content)
        path = folder / "made.csv.gz"
        path.write_bytes(gzip.compress(content, 1))
        del content
        began_s = time.process_time()  # a busy machine takes no more of it
        before = _peak_after_reset()
        outcome, message = _read(reader, path)
        grown, took_s = max(0, _peak() - before), time.process_time() - began_s
        in_bounds = grown <= MAX_RATIO * content_bytes + FLOOR_BYTES and took_s <= 1.0 + MAX_S_PER_MIB * content_bytes / 2**20
        held = _held(outcome, message, path) and in_bounds
        found = {"content, MiB": round(content_bytes / 2**20, 2), "memory, MiB": round(grown / 2**20, 1), "s": round(took_s, 2)}
        yield Case(f"{name}: {kind}", held, found | {"outcome": outcome, "message": message.replace(str(folder), "FOLDER")})


def _read(reader, path):
    try:
        reader.read(path)
    except DataError as error:
        return "refused", str(error)
    except Exception as error:  # any other exception is a finding of this campaign
        return type(error).__name__, str(error)
    return "taken", ""


def _held(outcome, message, path):
    if outcome == "refused":
        return len(message) <= MAX_MESSAGE and "\n" not in message and path.name in message and "; allowed: " in message
    return outcome == "taken"


def _peak_after_reset():
    """Reset the peak counter and return the current resident memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory freed earlier would hide new allocations
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak():
    return int(re.search(r"VmHWM:\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]) * 1024
