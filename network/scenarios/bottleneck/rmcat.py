"""Scenario rmcat: test cases of RFC 8867 (media over wired bottlenecks) and RFC 8869 (its wired bottleneck behind Wi-Fi).

5.1-50, 5.1-100   variable capacity, one flow; one-way delays of 50 and 100 ms
5.2               variable capacity, two flows
5.3               one flow in each direction; reports share the queue with the media of the opposite direction
5.4               three flows of one algorithm that start one after the other
5.5               five flows with one-way delays of 10 to 150 ms
5.6-300, 5.6-1000 a flow against a long TCP connection (CUBIC); a queue of 300 and 1000 ms
5.7               two flows against ten TCP connections that send files
5.8               three flows; the second one pauses
wifi-cbr, wifi-tcp, wifi-both   1 Mbit/s: a flow against 300 kbit/s or CUBIC from 40 to 80 s; one flow in each direction

All media flows of a world use the rules of the first (`vcgym.network.bottleneck.other_call.SAME`). Further cases: rmcat_extended.py. Left
out: random delay variation of up to 30 ms, variation of the video's rate by up to 5 %.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.network.bottleneck.airtime import Air
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, mean_bps, steps
from vcgym.network.bottleneck.discipline import Discipline
from vcgym.network.bottleneck.flow import Tcp, Udp, describe_flow
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import Reverse, Second, SharedLink, require_link
from vcgym.network.bottleneck.sources import Audio, Encoder
from vcgym.network.scenarios.bottleneck.recipe import BottleneckKinds, Kind, everywhere

RMCAT_KBPS = (170.0, 170.0, 1520.0)  # RFC 8867 5, video of 150 to 1500 kbit/s and audio of 20
RMCAT_AUDIO, RMCAT_VIDEO = Audio(50, 20.0), Encoder(min_kbps=150.0)
_SHORT_TCP, _START_ON, _IDLE_S = 10, 2, 10.0  # RFC 8867 5.7
_FILE_BYTES = (100_000, 1_000_000)


class Media(NamedTuple):
    """A media flow of a case; `way_ms` is its one-way delay without queueing, in each direction; for the rest see `OtherCall`."""

    starts_s: float = 0.0
    stops_s: float = math.inf
    way_ms: float = 50.0
    pauses_s: tuple[tuple[float, float], ...] = ()
    backwards: bool = False
    at_second: bool = False
    priority: float = 1.0
    station_mbps: float | None = None


class Case(NamedTuple):
    """A test case.

    Attributes:
        seconds: length of the case.
        mbps: capacity over time, (s, Mbit/s).
        media: the media flows; the first is the call, the others are its cross traffic.
        traffic: other cross traffic in the queue.
        queue_ms: queue length in ms of the mean capacity.
        reverse_mbps: capacity of the reverse direction; (): reports meet no queue.
        second_mbps: capacity of a second bottleneck, which the first flow passes too; (): there is none.
        hop_ms: delay from the first bottleneck to the second, part of the first flow's way.
        discipline: discipline of the queue; None: drop-tail without marks.
        air: the bottleneck is this medium, and `mbps` its rate times the free share of the air; None: it is a link.
    """

    seconds: float
    mbps: tuple[tuple[float, float], ...]
    media: tuple[Media, ...]
    traffic: tuple[Tcp | Udp, ...] = ()
    queue_ms: float = 300.0
    reverse_mbps: tuple[tuple[float, float], ...] = ()
    second_mbps: tuple[tuple[float, float], ...] = ()
    hop_ms: float = 0.0
    discipline: Discipline | None = None
    air: Air | None = None


_BACKGROUND: dict[str, Tcp | Udp] = {
    "cbr": Udp(300e3, starts_s=40.0, stops_s=80.0),
    "tcp": Tcp("cubic", 1500, 50.0, 50.0, starts_s=40.0, stops_s=80.0),
}
_BOTH_WAYS = (Media(), Media(backwards=True))

CASES = {
    **{f"5.1-{way_ms}": Case(100.0, ((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)), (Media(way_ms=way_ms),)) for way_ms in (50, 100)},
    "5.2": Case(125.0, ((0, 4.0), (25, 2.0), (50, 3.5), (75, 1.0), (100, 2.0)), (Media(), Media())),
    "5.3": Case(
        100.0, ((0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)), _BOTH_WAYS, reverse_mbps=((0, 2.0), (35, 0.8), (70, 2.0)),
    ),
    "5.4": Case(120.0, ((0, 3.5),), tuple(Media(starts_s, 119.0) for starts_s in (0.0, 20.0, 40.0))),
    "5.5": Case(300.0, ((0, 4.0),), tuple(Media(10.0 * i, way_ms=way_ms) for i, way_ms in enumerate((10.0, 25.0, 50.0, 100.0, 150.0)))),
    **{
        f"5.6-{queue_ms}": Case(
            120.0, ((0, 2.0),), (Media(5.0, 119.0),), (Tcp("cubic", 1500, 50.0, 50.0, stops_s=119.0),), queue_ms=queue_ms
        )
        for queue_ms in (300, 1000)
    },
    "5.7": Case(300.0, ((0, 2.0),), (Media(5.0, 299.0),) * 2),
    "5.8": Case(120.0, ((0, 3.5),), (Media(), Media(pauses_s=((40.0, 60.0),)), Media())),
    **{f"wifi-{kind}": Case(120.0, ((0, 1.0),), (Media(),), (flow,)) for kind, flow in _BACKGROUND.items()},
    "wifi-both": Case(120.0, ((0, 1.0),), _BOTH_WAYS, reverse_mbps=((0, 1.0),)),
}  # fmt: skip


def traces_of(name: str, case: Case) -> tuple[CapacityTrace, ...]:
    """Return the capacity of the bottleneck, followed by that of the reverse direction or of a second bottleneck if the case has one.

    Raises:
        TraceError: a rate is not positive, or times do not rise.
    """
    courses = {"": case.mbps, " back": case.reverse_mbps, " second": case.second_mbps}
    return tuple(steps(name + which, course, case.seconds) for which, course in courses.items() if course or not which)


def case_link(name: str, seed: int, case: Case, traces: tuple[CapacityTrace, ...]) -> SharedLink:
    """Return the world of a case; start and stop times of media flows are times of the case.

    Args:
        name: name of the world.
        seed: seed of the world's random parts.
        case: the test case.
        traces: result of `traces_of`.

    Raises:
        ValueError: no media flow, a backward first flow, intervals that overlap or end before they begin, a number out of range.
    """
    if not case.media or case.media[0].backwards:
        raise ValueError(f"Case.media of {name} is {case.media}: allowed is at least one flow, the first not backwards")
    first, *others = case.media
    calls = tuple(
        OtherCall(
            SAME, audio=RMCAT_AUDIO, video=RMCAT_VIDEO, rates_kbps=RMCAT_KBPS, forward_ms=kind_of.way_ms, backward_ms=kind_of.way_ms,
            starts_s=kind_of.starts_s, stops_s=kind_of.stops_s, pauses_s=kind_of.pauses_s, backwards=kind_of.backwards,
            at_second=kind_of.at_second, priority=kind_of.priority, station_mbps=kind_of.station_mbps,
        )
        for kind_of in others
    )  # fmt: skip
    late = ((0.0, first.starts_s),) if first.starts_s else ()
    link = SharedLink(
        name, seed, traces[0], queue_packets=8192, queue_bytes=_queue_bytes(case, traces[0]), discipline=case.discipline,
        forward_ms=first.way_ms, backward_ms=first.way_ms, flows=(*calls, *case.traffic), audio=RMCAT_AUDIO, video=RMCAT_VIDEO,
        seconds=min(case.seconds, first.stops_s), counts_from_s=first.starts_s, rates_kbps=RMCAT_KBPS, pauses_s=(*late, *first.pauses_s),
        reverse=Reverse(traces[1], _queue_bytes(case, traces[1])) if case.reverse_mbps else None,
        second=Second(traces[1], _queue_bytes(case, traces[1]), case.hop_ms) if case.second_mbps else None,
        priority=first.priority, air=case.air, station_mbps=first.station_mbps,
    )  # fmt: skip
    require_link(link)
    for flow in link.flows:
        describe_flow(flow)
    return link


def _queue_bytes(case: Case, trace: CapacityTrace) -> int:
    return int(case.queue_ms * mean_bps(trace) / 8000.0)


def rmcat() -> BottleneckKinds:
    """Return the recipe of scenario rmcat."""
    traces = {name: traces_of(name, case) for name, case in CASES.items()}

    def sample(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
        case = CASES[name]
        if name == "5.7":
            case = case._replace(traffic=_short_tcp(draws))
        return case_link(name, seed, case, traces[name])

    return BottleneckKinds(
        {name: Kind(everywhere(kind_of[0]), sample) for name, kind_of in traces.items()},
        flows=1 + _SHORT_TCP,
        calls=max(len(case.media) for case in CASES.values()) - 1,
        seconds=max(case.seconds for case in CASES.values()),
        beside=tuple(kind_of[1] for kind_of in traces.values() if len(kind_of) > 1),
    )


def _short_tcp(draws: np.random.Generator) -> tuple[Tcp, ...]:
    starts_s = [0.0 if i < _START_ON else float(draws.exponential(_IDLE_S)) for i in range(_SHORT_TCP)]
    return tuple(Tcp("cubic", 1500, 50.0, 50.0, starts_s=at_s, file_bytes=_FILE_BYTES, idle_s=_IDLE_S) for at_s in starts_s)
