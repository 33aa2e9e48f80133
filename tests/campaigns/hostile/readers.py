"""Readers of measured files behind one interface, and a valid file for each, line by line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from vcgym.network.bottleneck.capacity.files import import_throughput, read_capacity, read_mahimahi
from vcgym.network.traces.importers.fping import import_fping
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.network.traces.importers.rtp import import_rtp
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.importers.wonderproxy import import_grouped, import_raw
from vcgym.network.traces.trace_file import read_trace

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
