"""The same case over the kernel's queue and over the simulator's: what each flow gets, and how long packets wait."""

import contextlib
import os
import select
import socket
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lab.studies.live_kernel.bottleneck import ETHERNET_BYTES, MTU, RECEIVER, Bottleneck
from lab.studies.live_kernel.media import MediaReceiver, MediaSender
from vcgym.baselines.rule import NEVER_US
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.shared_link import SharedLink

BACKWARD_MS = 40.0
KERNEL_SETTLES_S, MODEL_SETTLES_S = 6.0, 100.0
"""Time that TCP has before the call begins; the simulator's has no selective acknowledgements and recovers from slow start for long."""
FRAME_BYTES = MTU + ETHERNET_BYTES
SEGMENT_BYTES = MTU - 20 - 20 - 12  # payload: IPv4, TCP and its timestamps
_CHUNK = bytes(1 << 16)


class KernelCase(NamedTuple):
    """A call and TCP connections over one bottleneck, measured from `from_s` to the end of the call."""

    system: System
    link: SharedLink
    from_s: float


class MeasuredFlows(NamedTuple):
    """Throughput of each flow, the call first, in bit/s with all headers; waiting time of the call's packets, in ms."""

    bps: NDArray[np.float64]  # (flows,)
    mean_ms: float
    p95_ms: float


def case(system: System, rate_bps: float, queue_ms: float, controls: Sequence[str], seconds: float, from_s: float) -> KernelCase:
    """Return a call of `system` beside a TCP connection for each of `controls`, over a drop-tail queue of `queue_ms` at `rate_bps`."""
    flows = tuple(Tcp(control, size_bytes=FRAME_BYTES, forward_ms=0.0, backward_ms=BACKWARD_MS) for control in controls)
    link = SharedLink(
        "kernel", 0, constant(rate_bps), queue_packets=8192, queue_bytes=round(rate_bps * queue_ms / 8e3), forward_ms=0.0,
        backward_ms=BACKWARD_MS, flows=flows, seconds=seconds, rates_kbps=(300.0, 50.0, rate_bps / 1e3),
    )  # fmt: skip
    return KernelCase(system, link, from_s)


def simulate(chosen: KernelCase, seeds: int) -> list[MeasuredFlows]:
    """Return what the simulator gives for seeds from 0 on, if the call begins `MODEL_SETTLES_S` after TCP."""
    link = chosen.link._replace(seconds=MODEL_SETTLES_S + chosen.link.seconds, pauses_s=((0.0, MODEL_SETTLES_S),))
    chosen = KernelCase(chosen.system, link, MODEL_SETTLES_S + chosen.from_s)
    until_from, whole = (_simulated(chosen.system, link._replace(seconds=seconds), seeds) for seconds in (chosen.from_s, link.seconds))
    found = []
    for row in range(seeds):
        segments = (of.tables.dumbbell.flows.flow["connection"]["first_missing"][row] for of in (whole, until_from))
        bps = 8.0 * FRAME_BYTES * np.subtract(*segments) / (link.seconds - chosen.from_s)
        log = whole.log(row)
        log = log[log["arrived_us"] >= 0]
        found.append(_measured(chosen, np.stack([log["sent_us"], log["arrived_us"], log["size_bytes"]], axis=1), bps))
    return found


def _simulated(system: System, link: SharedLink, seeds: int) -> SendingBatch:
    batch = SendingBatch(
        seeds, system.rate, system.order, [link.trace], len(link.flows), pacing=system.pacing or 0.0, log_packets=1 << 16,
        seconds=link.seconds,
    )  # fmt: skip
    for seed in range(seeds):
        batch.start(seed, link._replace(seed=seed))
    batch.play(np.arange(seeds))
    return batch


def _measured(chosen: KernelCase, packets: NDArray[np.int64], tcp_bps: NDArray[np.float64]) -> MeasuredFlows:
    """Return the measures, from the (n, 3) times of sending and arrival and sizes of the call's packets and the rates of the others."""
    from_us, to_us = chosen.from_s * 1e6, chosen.link.seconds * 1e6
    sent_us, arrived_us, size_bytes = packets.T
    heard = (arrived_us >= from_us) & (arrived_us < to_us)
    waits_ms = (arrived_us - sent_us)[heard] / 1000.0
    call_bps = 8e6 * size_bytes[heard].sum() / (to_us - from_us)
    mean_ms, p95_ms = (waits_ms.mean(), np.percentile(waits_ms, 95)) if heard.any() else (np.nan, np.nan)
    return MeasuredFlows(np.array([call_bps, *tcp_bps]), float(mean_ms), float(p95_ms))


class _Party(Protocol):
    """Participant in the event loop: reads when its descriptor is readable, and acts when its time has come."""

    @property
    def due_us(self) -> int: ...
    def fileno(self) -> int: ...
    def read(self, now_us: int) -> None: ...
    def act(self, now_us: int) -> None: ...


class _Download:
    """A connection of the kernel's TCP that always has data; counts the bytes that have arrived in order."""

    due_us = NEVER_US

    def __init__(self, bottleneck: Bottleneck, control: str, opened: contextlib.ExitStack) -> None:
        listener = opened.enter_context(bottleneck.socket("receiver", socket.SOCK_STREAM))
        listener.bind((RECEIVER, 0))
        listener.listen()
        self.source = opened.enter_context(bottleneck.socket("sender", socket.SOCK_STREAM))
        self.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        self.source.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.source.connect(listener.getsockname())
        self._listener, self._opened = listener, opened
        self._sink: socket.socket | None = None
        self.received = 0

    def fileno(self) -> int:
        return self._listener.fileno() if self._sink is None else self._sink.fileno()

    def read(self, now_us: int) -> None:
        if self._sink is None:
            self._sink = self._opened.enter_context(self._listener.accept()[0])
        else:
            self.received += len(self._sink.recv(1 << 20))

    def act(self, now_us: int) -> None: ...


def play(chosen: KernelCase) -> MeasuredFlows:
    """Play a case over the kernel's queue in real time, with real-time priority where that is allowed.

    Raises:
        OSError: see `Bottleneck`.
        RuntimeError: see `Bottleneck`.
    """
    link = chosen.link
    bottleneck = Bottleneck(int(link.trace.rates_bps[0]), int(link.queue_bytes or 0), link.backward_ms)
    with contextlib.ExitStack() as opened:
        opened.enter_context(bottleneck)
        opened.enter_context(_real_time())
        there, here = (opened.enter_context(bottleneck.socket(host, socket.SOCK_DGRAM)) for host in ("receiver", "sender"))
        there.bind((RECEIVER, 0))
        here.connect(there.getsockname())
        sender = MediaSender(here, chosen.system, link)
        downloads = [_Download(bottleneck, flow.control, opened) for flow in link.flows if isinstance(flow, Tcp)]
        origin_ns = time.time_ns() + (round(KERNEL_SETTLES_S * 1e9) if downloads else 0)
        receiver = MediaReceiver(there, origin_ns, link)
        parties: list[_Party] = [bottleneck.way_back, *downloads]
        _run(parties, downloads, origin_ns, 0.0)
        parties += [sender, receiver]
        _run(parties, downloads, origin_ns, chosen.from_s)
        before = np.array([download.received for download in downloads])
        _run(parties, downloads, origin_ns, link.seconds)
        after = np.array([download.received for download in downloads])
    tcp_bps = 8.0 * FRAME_BYTES / SEGMENT_BYTES * (after - before) / (link.seconds - chosen.from_s)
    return _measured(chosen, np.array(receiver.arrivals, np.int64).reshape(-1, 3), tcp_bps)


def _run(parties: list[_Party], downloads: list[_Download], origin_ns: int, until_s: float) -> None:
    sources = [download.source for download in downloads]
    while (now_us := (time.time_ns() - origin_ns) // 1000) < until_s * 1e6:
        due_us = min(int(until_s * 1e6), *(party.due_us for party in parties))
        readable, writable, _ = select.select(parties, sources, [], max(due_us - now_us, 0) / 1e6)
        now_us = (time.time_ns() - origin_ns) // 1000
        for party in readable:
            party.read(now_us)
        for party in parties:
            if party.due_us <= now_us:
                party.act(now_us)
        for source in writable:
            with contextlib.suppress(BlockingIOError):
                source.send(_CHUNK)


@contextlib.contextmanager
def _real_time() -> Iterator[None]:
    """Give this process real-time priority, so that others do not delay its timers."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
