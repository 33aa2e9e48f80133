"""Event-driven simulator of a flow over one bottleneck in plain Python, as in learning papers on congestion control (PCC-RL, Jay et al.,
ICML 2019): a heap with two events per packet, and a queue modelled as a delay. It serves as a reference for speed and gives the same
departures and drops as the compiled queue, as a test asserts.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field

SEND, ACKNOWLEDGED = 0, 1


@dataclass
class Link:
    """Drop-tail queue before a link of constant rate; the packet in service counts."""

    rate_bps: int
    limit_packets: int
    free_at_us: float = 0.0
    leaves_us: deque[float] = field(default_factory=deque)

    def offer(self, now_us: float, size_bytes: int) -> float | None:
        """Return the departure time of a packet, or None if the queue is full."""
        while self.leaves_us and self.leaves_us[0] <= now_us:
            self.leaves_us.popleft()
        if len(self.leaves_us) >= self.limit_packets:
            return None
        self.free_at_us = max(self.free_at_us, now_us) + size_bytes * 8e6 / self.rate_bps
        self.leaves_us.append(self.free_at_us)
        return self.free_at_us


@dataclass
class Flow:
    """Evenly spaced packets of equal size, and their outcomes."""

    gap_us: float
    size_bytes: int
    way_us: float
    sent: int = 0
    dropped: int = 0
    departed_us: list[float] = field(default_factory=list)
    rtt_sum_us: float = 0.0


def simulate(link: Link, flow: Flow, packets: int) -> Flow:
    """Simulate until all packets are sent and acknowledged."""
    events = [(0.0, SEND, 0.0)]
    while events:
        now_us, kind, sent_us = heapq.heappop(events)
        if kind == ACKNOWLEDGED:
            flow.rtt_sum_us += now_us - sent_us
            continue
        leaves_us = link.offer(now_us, flow.size_bytes)
        if leaves_us is None:
            flow.dropped += 1
        else:
            flow.departed_us.append(leaves_us)
            heapq.heappush(events, (leaves_us + flow.way_us, ACKNOWLEDGED, now_us))
        flow.sent += 1
        if flow.sent < packets:
            heapq.heappush(events, (now_us + flow.gap_us, SEND, 0.0))
    return flow
