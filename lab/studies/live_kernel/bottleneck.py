"""A bottleneck of the Linux kernel between two hosts: three network namespaces without names, which end with the process.

    sender --veth-- router --veth, tbf--> receiver
       ^------------- tun, delayed ----------'

The queue is a token bucket (tbf) over a drop-tail FIFO counted in bytes. A router of its own owns it: a host's own queue would push back on
its TCP (small queues) before it overflows. The way back is a pair of tun devices and a delay line in this process, since not every kernel
has netem. It needs root, iproute2, and /dev/net/tun.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from vcgym.baselines.rule import NEVER_US

SENDER, RECEIVER = "192.0.2.1", "192.0.2.6"
MTU = 1500
ETHERNET_BYTES = 14  # tbf counts them too
BURST_BYTES = 3 * (MTU + ETHERNET_BYTES)  # a late timer loses no capacity up to here
_NEW_NET = 0x40000000  # CLONE_NEWNET of sched.h
_SET_INTERFACE, _TUN, _NO_HEADER = 0x400454CA, 0x0001, 0x1000  # of if_tun.h
_LIBC = ctypes.CDLL(None, use_errno=True)


class DelayLine:
    """Packets of one tun device that appear at another after a fixed time.

    Args:
        enters: file descriptor of the first device.
        leaves: file descriptor of the second.
        delay_us: the time.
    """

    def __init__(self, enters: int, leaves: int, delay_us: int) -> None:
        self._enters, self._leaves, self._delay_us = enters, leaves, delay_us
        self._waiting: deque[tuple[int, bytes]] = deque()

    def fileno(self) -> int:
        """Return the descriptor that is readable when a packet enters."""
        return self._enters

    @property
    def due_us(self) -> int:
        """Time at which the next packet leaves, or NEVER_US."""
        return self._waiting[0][0] if self._waiting else NEVER_US

    def read(self, now_us: int) -> None:
        """Take in the packets that have entered."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._waiting.append((now_us + self._delay_us, os.read(self._enters, 65535)))

    def act(self, now_us: int) -> None:
        """Let out the packets that are due."""
        while self.due_us <= now_us:
            os.write(self._leaves, self._waiting.popleft()[1])


class Bottleneck:
    """The hosts and the queue between them, as a context.

    Args:
        rate_bps: rate of the token bucket, Ethernet headers included.
        queue_bytes: capacity of the queue, with the packet that waits for tokens.
        backward_ms: delay from the receiver to the sender; from the sender to the queue and from there to the receiver there is none.

    Raises:
        OSError: the process may not make namespaces or devices.
        RuntimeError: iproute2 refuses.
    """

    def __init__(self, rate_bps: int, queue_bytes: int, backward_ms: float) -> None:
        self._rate_bps, self._queue_bytes, self._delay_us = rate_bps, queue_bytes, round(backward_ms * 1000.0)
        self._open = contextlib.ExitStack()

    def __enter__(self) -> "Bottleneck":
        with contextlib.ExitStack() as opened:
            self._home = _namespace(opened)
            self._hosts = {host: _new_namespace(opened, self._home) for host in ("sender", "router", "receiver")}
            self._connect("sender", f"{SENDER}/30", "router", "192.0.2.2/30")
            self._connect("receiver", f"{RECEIVER}/30", "router", "192.0.2.5/30")
            self._run("sender", "ip route add 192.0.2.4/30 via 192.0.2.2")
            limits = f"rate {self._rate_bps}bit burst {BURST_BYTES} limit {self._queue_bytes}"
            self._run("router", f"tc qdisc add dev to-receiver root tbf {limits}")
            back = {host: self._tun(opened, host) for host in ("receiver", "sender")}
            self._run("receiver", f"ip route add {SENDER}/32 dev back src {RECEIVER} quickack 1")
            self.way_back = DelayLine(back["receiver"], back["sender"], self._delay_us)
            self._open = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def socket(self, host: str, kind: socket.SocketKind) -> socket.socket:
        """Return a new IPv4 socket of a host, "sender" or "receiver"."""
        with self._within(host):
            return socket.socket(socket.AF_INET, kind)

    @contextlib.contextmanager
    def _within(self, host: str) -> Iterator[None]:
        _switch("setns", self._hosts[host], _NEW_NET)
        try:
            yield
        finally:
            _switch("setns", self._home, _NEW_NET)

    def _run(self, host: str, command: str) -> None:
        with self._within(host):
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"'{command}' in the namespace of the {host}: {done.stderr.strip()[:200]}")

    def _connect(self, host: str, address: str, router: str, address_of_router: str) -> None:
        """Join a host to the router; no device joins segments into larger ones."""
        there = f"/proc/{os.getpid()}/fd/{self._hosts[router]}"
        self._run(host, f"ip link add to-router type veth peer name to-{host} netns {there}")
        for where, device, its_address in ((host, "to-router", address), (router, f"to-{host}", address_of_router)):
            self._run(where, f"ip link set {device} mtu {MTU} gso_max_segs 1 up")
            self._run(where, f"ip address add {its_address} dev {device}")

    def _tun(self, opened: contextlib.ExitStack, host: str) -> int:
        with self._within(host):
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            opened.callback(os.close, device)
            fcntl.ioctl(device, _SET_INTERFACE, struct.pack("16sH", b"back", _TUN | _NO_HEADER))
        self._run(host, "ip link set back mtu 9000 up")
        return device


def _namespace(opened: contextlib.ExitStack) -> int:
    """Return a descriptor of the network namespace of this thread, open as long as `opened`."""
    descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    opened.callback(os.close, descriptor)
    return descriptor


def _new_namespace(opened: contextlib.ExitStack, home: int) -> int:
    """Return the same of a new namespace that forwards and takes packets from any device."""
    _switch("unshare", _NEW_NET)
    try:
        for name, value in (("ipv6/conf/all/disable_ipv6", 1), ("ipv4/conf/all/rp_filter", 0), ("ipv4/ip_forward", 1)):
            Path("/proc/sys/net", name).write_text(str(value))
        return _namespace(opened)
    finally:
        _switch("setns", home, _NEW_NET)


def _switch(function: str, *arguments: int) -> None:
    if getattr(_LIBC, function)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code)}")
