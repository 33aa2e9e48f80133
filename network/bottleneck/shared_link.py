"""The world of a call over a shared bottleneck: everything that does not depend on the sender.

The queue may have a discipline other than drop-tail without marks. In place of a link the bottleneck may be a half-duplex medium, `Air`,
that all stations of a cell share: packets of both directions take turns in order of arrival (Wi-Fi). A packet holds the medium for an
access time and for its bits at the rate of its station, so a slow station takes air from all others (Heusse et al., INFOCOM 2003). The
queue counts this time as bytes at the rate of the medium; its capacity trace is that rate times the share of the air that other networks
leave. A TCP segment brings its acknowledgement along. Left out: collisions, retries, aggregation of frames, and queues of single stations,
so a packet's direction makes no difference.
"""

from typing import NamedTuple

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.fair_queue import ROOM, start_fair_queue
from vcgym.network.bottleneck.flow import Tcp, Udp
from vcgym.network.bottleneck.other_call import OtherCall, require_pauses, require_rates, require_something
from vcgym.network.bottleneck.queue import Queue
from vcgym.network.bottleneck.sources import Audio, Encoder, Series, Timeline
from vcgym.network.kernels.ranges import require_within

ACK_BYTES = 40  # TCP and IP headers


class Air(NamedTuple):
    """Shared medium."""

    mbps: float = 52.0  # rate of the medium, and of stations without a rate of their own: 802.11n, MCS 11 in 20 MHz
    access_us: float = 190.5  # air of a packet beside its bits: AIFS 43, mean backoff 67.5, preamble 36, SIFS 16, acknowledgement 28 us


def _require_air(air: Air | None, station_mbps: float | None, whose: str) -> None:
    if air is not None:
        require_within(air, mbps=(0.1, 1e4), access_us=(0.0, 1e5))
    if station_mbps is not None and (air is None or not 0.1 <= station_mbps <= 1e4):
        raise ValueError(f"station_mbps = {station_mbps} of {whose}: allowed is 0.1 to 10,000 with a medium `air`, None without")


def medium_bytes(air: Air, station_mbps: float | None = None) -> tuple[float, float]:
    """Return what a packet of a station costs in bytes of the medium: for each of its bytes, and for its access."""
    return (1.0 if station_mbps is None else air.mbps / station_mbps), air.access_us * air.mbps / 8.0


def traffic_bytes(air: Air, size_bytes: int, acknowledged: bool) -> int:
    """Return what a packet of cross traffic costs in bytes of the medium, with its acknowledgement if it has one."""
    _, access = medium_bytes(air)
    return round(size_bytes + access + (ACK_BYTES + access if acknowledged else 0.0))


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


def _require_discipline(discipline: Discipline, queue_packets: int) -> None:
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


class Reverse(NamedTuple):
    """Drop-tail bottleneck in the reverse direction, which reports pass before `backward_ms`; `queue_bytes` None: no limit."""

    trace: CapacityTrace
    queue_bytes: int | None = None


class Second(NamedTuple):
    """Second drop-tail bottleneck, which packets of the first call reach `hop_ms` after the first; `queue_bytes` None: no limit."""

    trace: CapacityTrace
    queue_bytes: int | None = None
    hop_ms: float = 0.0


class SharedLink(NamedTuple):
    """Sampled world."""

    name: str  # of the kind of world, for tables
    seed: int  # of the world's random parts
    trace: CapacityTrace  # capacity of the bottleneck
    start_us: int = 0  # position in the trace at the start of the call
    queue_packets: int = 50  # capacity of the bottleneck's queue, including the packet in service
    queue_bytes: int | None = None  # the same in bytes; None: no limit
    discipline: Discipline | None = None  # of the queue; None: drop-tail without marks
    forward_ms: float = 25.0  # delay from the bottleneck to the receiver, without queueing; with a second one including its `hop_ms`
    backward_ms: float = 25.0  # delay of a report
    loss: float = 0.0  # probability of random loss before the queue
    report_loss: float = 0.0  # share of lost reports
    works_ms: float = 0.0  # mean time between outages of the last hop; 0: no outages
    outage_ms: tuple[float, float] = (10.0, 80.0)  # minimum and maximum length of an outage
    flows: tuple[Tcp | Udp | OtherCall, ...] = ()  # cross traffic in the queue
    audio: Audio | None = Audio()
    video: Timeline | Series | Encoder | None = Encoder()
    seconds: float = 60.0  # length of the call
    counts_from_s: float = 0.0  # packets captured before are not counted
    expiry_ms: float = 200.0  # time after capture at which a packet expires
    send_queue: int = 512  # capacity of the send queue, packets
    report_every_ms: float = 50.0  # interval between receiver reports
    rates_kbps: tuple[float, float, float] = (300.0, 50.0, 4000.0)  # start, minimum and maximum target
    pauses_s: tuple[tuple[float, float], ...] = ()  # intervals without capture
    reverse: Reverse | None = None  # bottleneck in the reverse direction; None: reports meet no queue
    second: Second | None = None  # bottleneck behind the first; None: there is one
    priority: float = 1.0  # the call is controlled as one of `priority` equal calls, see `vcgym.envs.call.sender.events`
    air: Air | None = None  # the bottleneck is this half-duplex medium, which reports pass too; None: it is a link
    station_mbps: float | None = None  # rate of the call's station on the medium; None: that of the medium


def require_link(link: SharedLink) -> None:
    """Raise a ValueError for a number out of range, parts of a world that do not go together, or a call without sources."""
    if link.expiry_ms < 0.0:
        raise ValueError(f"SharedLink.expiry_ms is {link.expiry_ms} in {link.name}, an expiry before creation; allowed is 0 or more")
    require_within(
        link, queue_packets=(1, 8192), forward_ms=(0.0, 60e3), backward_ms=(0.0, 60e3), loss=(0.0, 0.999), report_loss=(0.0, 0.999),
        works_ms=(0.0, 1e9), seconds=(0.1, 86_400.0), expiry_ms=(0.0, 1e6), send_queue=(1, 1024), report_every_ms=(1.0, 10e3),
        counts_from_s=(0.0, link.seconds), priority=(0.01, 100.0),
    )  # fmt: skip
    if link.discipline is not None:
        _require_discipline(link.discipline, link.queue_packets)
    require_rates(link.rates_kbps, link.name)
    require_pauses(link.pauses_s, link.name)
    calls = [flow for flow in link.flows if isinstance(flow, OtherCall)]
    if link.reverse is None and any(call.backwards for call in calls):
        raise ValueError(f"backwards = True of an OtherCall of {link.name}: allowed with a bottleneck `reverse`")
    if link.second is None and any(call.at_second for call in calls):
        raise ValueError(f"at_second = True of an OtherCall of {link.name}: allowed with a bottleneck `second`")
    if link.second is not None:
        require_within(link.second, hop_ms=(0.0, link.forward_ms))
        if link.works_ms or any(value is not None for value in (link.discipline, link.reverse, link.air)):
            raise ValueError(f"second = {link.second} of {link.name}: allowed without outages, discipline, `reverse` and `air`")
    if link.air is not None and link.reverse is not None:
        raise ValueError(f"air = {link.air} of {link.name} with a bottleneck `reverse`: allowed is one of them")
    beside = [which.trace for which in (link.reverse, link.second) if which is not None]
    if any(trace.conditions is not None for trace in (link.trace, *beside)) and (beside or link.air is not None):
        allowed = "delay and loss that change are allowed without `reverse`, `second` and `air`"
        raise ValueError(f"trace = {link.trace.name} of {link.name}: {allowed}")
    for station_mbps in (link.station_mbps, *(call.station_mbps for call in calls)):
        _require_air(link.air, station_mbps, link.name)
    if link.reverse is not None and isinstance(link.discipline, Codel | FqCodel):
        raise ValueError(f"discipline = {link.discipline} of {link.name} with a bottleneck `reverse`: allowed are None and Threshold")
    if not 0.0 <= link.outage_ms[0] <= link.outage_ms[1] <= 10e3:
        raise ValueError(f"outage_ms = {link.outage_ms} of {link.name}: allowed is 0 <= minimum <= maximum <= 10,000")
    require_something(link.audio, link.video, link.name)
