"""Disciplines of the bottleneck's queue other than drop-tail without marks."""

from typing import NamedTuple

from vcgym.network.bottleneck.fair_queue import ROOM, start_fair_queue
from vcgym.network.bottleneck.queue import Queue
from vcgym.network.kernels.ranges import require_within

_ONE_TURN = 1 << 40  # bytes: a single queue needs no turns


class Threshold(NamedTuple):
    """Drop-tail with ECN marks: an ECN-capable packet whose queueing delay would exceed `delay_ms` is marked on entry."""

    delay_ms: float = 20.0


class Codel(NamedTuple):
    """A single queue under CoDel, RFC 8289 with its constants (4.2, 4.3): ECN-capable packets are marked, others dropped."""

    target_ms: float = 5.0
    interval_ms: float = 100.0


class FqCodel(NamedTuple):
    """A queue per flow under CoDel, served in turns of `quantum_bytes`: RFC 8290 with its constants (5.2)."""

    target_ms: float = 5.0
    interval_ms: float = 100.0
    quantum_bytes: int = 1514


Discipline = Threshold | Codel | FqCodel


def require_discipline(discipline: Discipline, queue_packets: int) -> None:
    """Check a discipline.

    Raises:
        ValueError: a number is out of range, or the queue is longer than supported.
    """
    if isinstance(discipline, Threshold):
        require_within(discipline, delay_ms=(0.0, 60e3))
        return
    require_within(discipline, target_ms=(0.001, 60e3), interval_ms=(0.001, 60e3))
    if isinstance(discipline, FqCodel):
        require_within(discipline, quantum_bytes=(1, 1 << 30))
    if queue_packets > ROOM:
        raise ValueError(f"queue_packets = {queue_packets} under {discipline}: allowed is 1 to {ROOM}")


def start_discipline(queue: Queue, s: int, discipline: Discipline | None) -> None:
    """Set the discipline of the started queue of bottleneck `s`; None is drop-tail without marks."""
    if isinstance(discipline, Threshold):
        queue.link["mark_us"][s] = round(discipline.delay_ms * 1000)
    elif discipline is not None:
        queue.link["by_events"][s] = 1
        fair, quantum = (1, discipline.quantum_bytes) if isinstance(discipline, FqCodel) else (0, _ONE_TURN)
        start_fair_queue(queue.fair, s, fair, round(discipline.target_ms * 1000), round(discipline.interval_ms * 1000), quantum)
