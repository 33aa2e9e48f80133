"""A media sender and its receiver over UDP: the sources, rate rule, scheduler and pacer of a simulated call, in real time.

Each packet carries its number, the time of sending and the interval between reports. The receiver reports the arrivals since its last
report with the times that the kernel gave them.
"""

import socket
import struct
from typing import Any, NamedTuple

import numpy as np

from lab.studies.live_kernel.bottleneck import ETHERNET_BYTES
from lab.studies.live_kernel.sender_policy import OrderPolicy, RatePolicy
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import NEVER_US
from vcgym.baselines.systems import System
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import describe_video, frame_bytes, packets_of, part_bytes, start_source
from vcgym.network.kernels import rng

HEADERS_BYTES = ETHERNET_BYTES + 20 + 8  # IPv4 and UDP
_HEADER = struct.Struct("!qqq")
_TIMESTAMPS = 35  # SO_TIMESTAMPNS of asm-generic/socket.h
_KEEPS = 0.9  # weight of the previous round trip and packet size, as in the simulator
_NO_SERIES = np.ones(1, np.int64)


class _Item(NamedTuple):
    created_us: int
    expires_us: int
    size_bytes: int
    kind: int
    frame: int


class MediaSender:
    """Sender of one call.

    Args:
        udp: connected socket, not blocking.
        system: rate rule, scheduler and pacing.
        link: world of the call: sources, rates, send queue, expiry and report interval are used.
    """

    def __init__(self, udp: socket.socket, system: System, link: SharedLink) -> None:
        self._udp, self._pacing, self._link = udp, system.pacing or 0.0, link
        self._rate, self._order = RatePolicy(system.rate), OrderPolicy(system.order)
        start, self._min_bps, self._max_bps = (1000.0 * kbps for kbps in link.rates_kbps)
        self._target_bps, self._history = start, np.array([[[start, self._min_bps, self._max_bps]]])
        self._audio_us, self._video_us = (0 if source is not None else NEVER_US for source in (link.audio, link.video))
        if link.video is not None:
            self._source = describe_video(link.video).reshape(1).view(np.recarray)[0]
            start_source(self._source, start)
        self._queue: list[_Item] = []
        self._sent: list[tuple[int, int]] = []  # size, time
        self._frames = self._reported = self._chance_us = 0
        self._rtt_us, self._mean_bytes = 0.0, 519.0 if link.video is not None else float(link.audio.size_bytes if link.audio else 0)
        self._state: Any = None
        self._report_every_us, self._wake_us = 0, NEVER_US
        self._decide(0, [])

    def fileno(self) -> int:
        """Return the descriptor that is readable when a report arrives."""
        return self._udp.fileno()

    @property
    def due_us(self) -> int:
        """Time of the next event."""
        return min(self._audio_us, self._video_us, self._wake_us, self._chance_us if self._queue else NEVER_US)

    def read(self, now_us: int) -> None:
        """Process the report that has arrived."""
        arrived = {int(number): int(at_us) for number, at_us in np.frombuffer(self._udp.recv(65535), np.int64).reshape(-1, 2)}
        rows, newest = list[tuple[int, ...]](), max(arrived)
        for number in range(self._reported, newest + 1):
            size_bytes, sent_us = self._sent[number]
            rows.append((number, size_bytes, sent_us, arrived.get(number, NOT_ARRIVED), now_us, 0))
        self._reported = newest + 1
        sample_us = float(min(now_us - self._sent[number][1] for number in arrived))
        self._rtt_us = sample_us if self._rtt_us == 0.0 else _KEEPS * self._rtt_us + (1.0 - _KEEPS) * sample_us
        self._decide(now_us, rows)

    def act(self, now_us: int) -> None:
        """Capture and send what is due."""
        if self._wake_us <= now_us:
            self._decide(now_us, [])
        while min(self._audio_us, self._video_us) <= now_us:
            self._capture()
        while self._queue and self._chance_us <= now_us:
            self._take_opportunity(now_us)

    def _decide(self, now_us: int, rows: list[tuple[int, ...]]) -> None:
        observation = {
            "records": np.array(rows or [(0,) * 6], np.int64)[None], "count": np.array([len(rows)]), "history": self._history,
            "key": np.array([self._link.seed], np.uint64), "now_us": np.array([now_us]),
        }  # fmt: skip
        actions, self._state = self._rate.predict(observation, self._state)
        rate_bps, every_us, wake_us = actions[0].tolist()
        if rate_bps > 0:
            self._target_bps = min(max(float(rate_bps), self._min_bps), self._max_bps)
        self._report_every_us = every_us or round(self._link.report_every_ms * 1000.0)
        self._wake_us = now_us + wake_us if wake_us else NEVER_US

    def _capture(self) -> None:
        audio, audio_bps = self._link.audio, 0.0
        if audio is not None:
            audio_bps = audio.size_bytes * 8e3 / audio.interval_ms
        video_first = rng.uniform(rng.stream_key(np.uint64(self._link.seed), 1, rng.SOURCE), self._frames) < 0.5
        if audio is not None and self._audio_us < self._video_us + (0 if video_first else 1):
            self._enqueue(self._audio_us, audio.size_bytes, AUDIO, 0)
            self._audio_us += round(audio.interval_ms * 1000.0)
            return
        target_bps = self._target_bps - audio_bps
        size = frame_bytes(self._source, _NO_SERIES, np.uint64(self._link.seed), self._frames, self._video_us, target_bps)
        parts = packets_of(self._source, size)
        for part in range(parts):
            self._enqueue(self._video_us, int(part_bytes(size, parts, part)), VIDEO, self._frames)
        self._frames += 1
        self._video_us = self._frames * int(self._source.frame_us)

    def _enqueue(self, now_us: int, size_bytes: int, kind: int, frame: int) -> None:
        """Append a packet; a full queue rejects it, as with all schedulers played here."""
        if len(self._queue) < self._link.send_queue:
            expires_us = now_us + round(self._link.expiry_ms * 1000.0)
            size_bytes = max(size_bytes, HEADERS_BYTES + _HEADER.size)
            self._queue.append(_Item(now_us, expires_us, size_bytes, kind, frame))

    def _take_opportunity(self, now_us: int) -> None:
        waiting = np.array(self._queue, np.int64)[None]
        clocks = {"now_us": np.array([now_us]), "rtt_us": np.array([int(self._rtt_us)])}
        (answer,), _ = self._order.predict({"records": waiting, "count": np.array([len(self._queue)]), **clocks})
        item = self._queue.pop(int(answer) % len(self._queue))
        if answer >= waiting.shape[1]:
            return
        self._udp.send(_HEADER.pack(len(self._sent), now_us, self._report_every_us).ljust(item.size_bytes - HEADERS_BYTES, b"\0"))
        self._sent.append((item.size_bytes, now_us))
        self._mean_bytes = _KEEPS * self._mean_bytes + (1.0 - _KEEPS) * item.size_bytes
        paced = self._pacing * self._target_bps
        gap_us = item.size_bytes * 8e6 / paced if self._pacing > 0.0 else self._mean_bytes * 8e6 / self._target_bps
        self._chance_us = max(self._chance_us, item.created_us) + int(gap_us)


class MediaReceiver:
    """Receiver of one call.

    Args:
        udp: bound socket, not blocking.
        origin_ns: time of the kernel's clock at the start of the call.
        link: world of the call: the interval of its first report is used.

    Attributes:
        arrivals: (time of sending, of arrival, size) of each packet, in us and bytes with all headers.
    """

    def __init__(self, udp: socket.socket, origin_ns: int, link: SharedLink) -> None:
        udp.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        self._udp, self._origin_ns = udp, origin_ns
        self._pending: list[tuple[int, int]] = []
        self._every_us = self.due_us = round(link.report_every_ms * 1000.0)
        self._sender: Any = None
        self.arrivals: list[tuple[int, int, int]] = []

    def fileno(self) -> int:
        """Return the descriptor that is readable when a packet arrives."""
        return self._udp.fileno()

    def read(self, now_us: int) -> None:
        """Take in the packet that has arrived."""
        content, ancillary, _, self._sender = self._udp.recvmsg(65535, 64)
        seconds, ns = struct.unpack("qq", ancillary[0][2])
        arrived_us = (seconds * 1_000_000_000 + ns - self._origin_ns) // 1000
        number, sent_us, self._every_us = _HEADER.unpack_from(content)
        self._pending.append((number, arrived_us))
        self.arrivals.append((sent_us, arrived_us, len(content) + HEADERS_BYTES))

    def act(self, now_us: int) -> None:
        """Send the report that is due."""
        if self._pending:
            self._udp.sendto(np.array(self._pending, np.int64).tobytes(), self._sender)
            self._pending = []
        self.due_us += self._every_us
