"""A relay under many sessions and a flood of valid datagrams: memory stays flat.

The flood goes through sockets on loopback and gives packets per second of one core and the delay that the relay adds.
"""

import os
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from campaigns import Case
from vcgym.live.protocol.nodes import unix_us
from vcgym.live.protocol.wire import DatagramKind, Header, new_key, route, session_key, write
from vcgym.live.relay import Limits, Relay

FLOOD_S = {"small": 2.0, "medium": 20.0, "full": 600.0}
SESSIONS = {"small": 1_000, "medium": 10_000, "full": 10_000}
BURST = 16  # datagrams sent before one waits for the answers
MAX_GROWTH_BYTES = 64 * 1024
SOURCE = ("127.0.0.1", 9)


def run(scale: str, folder: Path) -> Iterator[Case]:
    """Yield the cases."""
    yield _memory_of_sessions(SESSIONS[scale])
    yield from _flooded(FLOOD_S[scale], folder)


def _datagram(secret: bytes, session: int, number: int, *hops: tuple[str, int]) -> bytes:
    return write(Header(DatagramKind.MEDIA, 0, session, number, 0, route(*hops)), bytes(60), session_key(secret, session))


def _memory_of_sessions(sessions: int) -> Case:
    secret = new_key()
    relay = Relay(secret, 0, Limits(sessions=sessions))
    given = [[_datagram(secret, session, number, SOURCE, SOURCE) for session in range(sessions)] for number in (0, 4000)]
    tracemalloc.start()
    for of_all in given:
        for datagram in of_all:
            list(relay.receive(datagram, SOURCE, 0))
    each = tracemalloc.get_traced_memory()[0] / sessions
    tracemalloc.stop()
    return Case("many sessions", relay.sessions == sessions and each < 5000, {"sessions": sessions, "bytes_per_session": round(each)})


def _flooded(seconds: float, folder: Path) -> Iterator[Case]:
    """Flood a relay command with valid datagrams, in bursts and one by one; compare with a direct way over loopback."""
    secret = folder / "secret"
    command = [sys.executable, "-m", "vcgym.scripts.console.program", "relay", f"secret={secret}", "packets_per_s=1e6"]
    with subprocess.Popen([*command, f"seconds={2 * seconds + 30}"], stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None
            host, port = relay.stdout.readline().split()[-1].rsplit(":", 1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
                opened.bind(("127.0.0.1", 0))
                opened.settimeout(2.0)
                key, here, there = bytes.fromhex(secret.read_text()), opened.getsockname(), (host, int(port))
                direct_us, _ = _round(opened, key, [here], min(seconds, 5.0), 1, 1)
                for name, burst, session in (("one by one", 1, 2), ("flood", BURST, 3)):
                    before = _used(relay.pid)
                    delays_us, took_s = _round(opened, key, [there, here], seconds, burst, session)
                    yield _rate(name, delays_us, took_s, before, _used(relay.pid), direct_us)
        finally:
            relay.kill()


def _round(
    opened: socket.socket, key: bytes, hops: list[tuple[str, int]], seconds: float, burst: int, session: int
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return the delays in us of datagrams sent over `hops` in bursts, and the time; a lost one ends it by an error."""
    delays, number, began = [], 0, time.perf_counter()
    hops_of_all = route(*hops)
    while time.perf_counter() - began < seconds:
        sent = []
        for _ in range(burst):
            datagram = write(Header(DatagramKind.MEDIA, 0, session, number, unix_us(), hops_of_all), bytes(60), session_key(key, session))
            number += 1
            sent.append(time.perf_counter_ns())
            opened.sendto(datagram, hops[0])
        for sent_ns in sent:
            opened.recv(2048)
            delays.append((time.perf_counter_ns() - sent_ns) / 1e3)
    return np.array(delays), time.perf_counter() - began


def _used(pid: int) -> tuple[float, int]:
    """Return the processor time in s and the resident bytes of a process."""
    ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK"), int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _rate(
    name: str, delays_us: np.ndarray, took_s: float, before: tuple[float, int], after: tuple[float, int], direct_us: np.ndarray
) -> Case:  # fmt: skip
    busy_s, growth = after[0] - before[0], after[1] - before[1]
    added = {f"added_p{q}_us": round(float(np.percentile(delays_us, q) - np.percentile(direct_us, q))) for q in (50, 99)}
    rates = {"per_second": round(len(delays_us) / took_s), "per_processor_second": round(len(delays_us) / max(busy_s, 0.01))}
    return Case(name, growth < MAX_GROWTH_BYTES * 16, {"datagrams": len(delays_us), **rates, **added, "growth_bytes": growth})
