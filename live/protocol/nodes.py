"""Nodes of a live call, and the loop that runs them on sockets.

A node is a state machine: it is given datagrams with their arrival times and is woken when it asked to be, and it returns datagrams to
send. It never reads a clock or a socket, so tests run the same nodes in virtual time. `serve` runs nodes in real time: one loop, one socket
per node, all datagrams that wait are read at each wake-up. On Linux arrival times are those of the kernel (SO_TIMESTAMPNS), so they do not
depend on when this process is scheduled. The parties of a call keep a `steady_clock`, which no step of the machine's clock moves; a relay,
which outlives calls, follows the machine's clock.
"""

import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from vcgym.live.protocol.wire import MAX_DATAGRAM, Address

NEVER_US = 1 << 62
Sent = tuple[bytes, Address]
Clock = Callable[[], int]
"""Returns the time in microseconds since 1970."""

_MAX_WAIT_S = 0.1  # `serve` looks at `done` at least as often
_MAX_DRAIN = 256  # datagrams of one node before the next node has its turn
_SO_TIMESTAMPNS = 35  # Linux, asm-generic/socket.h
_TIMESPEC = struct.Struct("@qq")
_MAX_QUEUED_US = 10_000_000  # of a datagram in the kernel; what seems older, or from the future, came before a step of the clock


class Node(Protocol):
    """Party of a call."""

    @property
    def due_us(self) -> int:
        """Return the time of the next call of `wake`, in microseconds since 1970; NEVER_US for none."""

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take a datagram that arrived from `source` at `now_us`; return datagrams to send, with their destinations."""

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Do what is due at `now_us`, after every datagram that arrived by then; return datagrams to send, with their destinations."""


def unix_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


def steady_clock() -> Clock:
    """Return a clock that reads the time since 1970 once, now, and then counts on with the monotonic clock; other processes may use it."""
    return partial(_steady_us, unix_us() - time.monotonic_ns() // 1000)


def _steady_us(zero_us: int) -> int:
    return zero_us + time.monotonic_ns() // 1000


def open_socket(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a non-blocking UDP socket; port 0 lets the system choose.

    Raises:
        OSError: the address cannot be bound; the error names it.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    if sys.platform == "linux":
        opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        error.filename = f"{host}:{port}"  # the error of a socket names no address
        raise
    return opened


def serve(parts: Sequence[tuple[socket.socket, Node]], done: Callable[[], bool], clock: Clock = unix_us) -> None:
    """Run nodes on their sockets, by a clock, until `done` returns True."""
    by_socket = dict(parts)
    ready: list[socket.socket] = []
    while not done():
        now_us = clock()  # before the sockets are read: what arrived by now is read before the nodes are woken
        for opened in ready:
            for datagram, source, arrived_us in _waiting(opened, clock):
                _send(opened, by_socket[opened].receive(datagram, source, arrived_us))
        for opened, node in parts:
            if node.due_us <= now_us:
                _send(opened, node.wake(now_us))
        wait_s = (min(node.due_us for _, node in parts) - clock()) / 1e6
        ready = select.select(list(by_socket), [], [], min(max(wait_s, 0.0), _MAX_WAIT_S))[0]


def _waiting(opened: socket.socket, clock: Clock) -> Iterator[tuple[bytes, Address, int]]:
    """Yield the waiting datagrams of a socket with source and arrival time; one that is too long is cut, and the format refuses it."""
    for _ in range(_MAX_DRAIN):
        try:
            datagram, extra, _, source = opened.recvmsg(MAX_DATAGRAM + 1, 64)
        except (BlockingIOError, ConnectionError):
            return
        queued_us = 0
        if extra:
            seconds, nanoseconds = _TIMESPEC.unpack_from(extra[0][2])
            queued_us = unix_us() - seconds * 1_000_000 - nanoseconds // 1000
        yield datagram, source, clock() - (queued_us if 0 <= queued_us <= _MAX_QUEUED_US else 0)


def _send(opened: socket.socket, sent: Iterable[Sent]) -> None:
    for datagram, address in sent:
        try:
            opened.sendto(datagram, address)
        except OSError:  # no buffer, or a destination that cannot be reached: the network lost it
            continue
