"""Scenario rmcat: test cases of RFC 8867 (media over wired bottlenecks) and RFC 8869 (its wired bottleneck behind Wi-Fi).

    5.1-50, 5.1-100    variable capacity, one flow; one-way delays of 50 and 100 ms
    5.2                variable capacity, two flows
    5.3                one flow in each direction; reports share the queue with the media of the opposite direction
    5.4                three flows of one algorithm that start one after the other
    5.5                five flows with one-way delays of 10 to 150 ms
    5.6-300, 5.6-1000  a flow against a long TCP connection (CUBIC); a queue of 300 and 1000 ms
    5.7                two flows against ten TCP connections that send files
    5.8                three flows; the second one pauses
    wifi-cbr, wifi-tcp, wifi-both
                       1 Mbit/s: a flow against 300 kbit/s or CUBIC from 40 to 80 s; one flow in each direction

All media flows of a world use the rules of the first (`vcgym.network.bottleneck.other_call.SAME`). Left out: random delay variation of up
to 30 ms, variation of the video's rate by up to 5 %.

Scenario rmcat-extended: the cases of RFC 8867 6, and those of RFC 8869 4 that scenario rmcat leaves out.

    6.1-3.5, 6.1-2     5.4 with priority 2 for the first flow, over 3.5 and 2 Mbit/s
    6.2-5.1, 6.2-5.4   5.1 and 5.4 behind a queue that marks packets which would wait for more than 20 ms
    6.3                two bottlenecks of 2 and 1.5 Mbit/s; one flow passes both, two pass one each
    wifi-one, wifi-both-cbr, wifi-both-tcp
                       4.1: one flow; one in each direction and 300 kbit/s or TCP from 40 to 80 s
    air-16, air-24, air-32
                       4.2: media flows of as many stations on one medium (`Air`)
    air-cbr, air-tcp   4.2: 24 flows, and four of 600 kbit/s or four TCP connections (Reno) from 40 to 80 s
    air-slow           16 flows, four of them from stations with a rate of 6.5 Mbit/s (4.3, MCS 0)
    air-varying        16 flows; other networks leave a share of the air that is drawn anew each second, uniform in 50 to 100 %

Numbers of flows, rates and times of RFC 8869 4: ns3-rmcat. Our choices: 2 Mbit/s in 6.1, where 3.5 Mbit/s do not let the first flow have
twice the rate of the others below its maximum; the marking of 6.2; the slow stations and the share of the air over time. On the medium
uplink and downlink are the same. 6.3 has no queue at its middle link of 8 Mbit/s, which 2 Mbit/s enter.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, mean_bps, rate_trace, steps
from vcgym.network.bottleneck.flow import Tcp, Udp, describe_flow
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import Air, Discipline, Reverse, Second, SharedLink, Threshold, require_link
from vcgym.network.bottleneck.sources import Audio, Encoder
from vcgym.network.scenarios.bottleneck.recipe import BottleneckKinds, Kind, everywhere

RMCAT_KBPS = (170.0, 170.0, 1520.0)  # RFC 8867 5, video of 150 to 1500 kbit/s and audio of 20
RMCAT_AUDIO, RMCAT_VIDEO = Audio(50, 20.0), Encoder(min_kbps=150.0)
_SHORT_TCP, _START_ON, _IDLE_S = 10, 2, 10.0  # RFC 8867 5.7
_FILE_BYTES = (100_000, 1_000_000)


def media(starts_s: float = 0.0, stops_s: float = math.inf, way_ms: float = 50.0, **others: Any) -> OtherCall:
    """Return a media flow of a case; `way_ms` is its one-way delay without queueing, in each direction; for the rest see `OtherCall`."""
    return OtherCall(
        SAME, audio=RMCAT_AUDIO, video=RMCAT_VIDEO, rates_kbps=RMCAT_KBPS, forward_ms=way_ms, backward_ms=way_ms, starts_s=starts_s,
        stops_s=stops_s, **others,
    )  # fmt: skip


class Case(NamedTuple):
    """A test case."""

    seconds: float  # length of the case
    mbps: tuple[tuple[float, float], ...]  # capacity over time, (s, Mbit/s)
    media: tuple[OtherCall, ...]  # the media flows; the first is the call, the others are its cross traffic
    traffic: tuple[Tcp | Udp, ...] = ()  # other cross traffic in the queue
    queue_ms: float = 300.0  # queue length in ms of the mean capacity
    reverse_mbps: tuple[tuple[float, float], ...] = ()  # capacity of the reverse direction; (): reports meet no queue
    second_mbps: tuple[tuple[float, float], ...] = ()  # capacity of a second bottleneck, which the first flow passes too; (): there is none
    hop_ms: float = 0.0  # delay from the first bottleneck to the second, part of the first flow's way
    discipline: Discipline | None = None  # discipline of the queue; None: drop-tail without marks
    air: Air | None = None  # the bottleneck is this medium, and `mbps` its rate times the free share of the air; None: it is a link


_BACKGROUND: dict[str, Tcp | Udp] = {
    "cbr": Udp(300e3, starts_s=40.0, stops_s=80.0),
    "tcp": Tcp("cubic", 1500, 50.0, 50.0, starts_s=40.0, stops_s=80.0),
}
_BOTH_WAYS = (media(), media(backwards=True))

CASES = {
    **{f"5.1-{way_ms}": Case(100.0, ((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)), (media(way_ms=way_ms),)) for way_ms in (50, 100)},
    "5.2": Case(125.0, ((0, 4.0), (25, 2.0), (50, 3.5), (75, 1.0), (100, 2.0)), (media(), media())),
    "5.3": Case(
        100.0, ((0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)), _BOTH_WAYS, reverse_mbps=((0, 2.0), (35, 0.8), (70, 2.0)),
    ),
    "5.4": Case(120.0, ((0, 3.5),), tuple(media(starts_s, 119.0) for starts_s in (0.0, 20.0, 40.0))),
    "5.5": Case(300.0, ((0, 4.0),), tuple(media(10.0 * i, way_ms=way_ms) for i, way_ms in enumerate((10.0, 25.0, 50.0, 100.0, 150.0)))),
    **{
        f"5.6-{queue_ms}": Case(
            120.0, ((0, 2.0),), (media(5.0, 119.0),), (Tcp("cubic", 1500, 50.0, 50.0, stops_s=119.0),), queue_ms=queue_ms
        )
        for queue_ms in (300, 1000)
    },
    "5.7": Case(300.0, ((0, 2.0),), (media(5.0, 299.0),) * 2),
    "5.8": Case(120.0, ((0, 3.5),), (media(), media(pauses_s=((40.0, 60.0),)), media())),
    **{f"wifi-{kind}": Case(120.0, ((0, 1.0),), (media(),), (flow,)) for kind, flow in _BACKGROUND.items()},
    "wifi-both": Case(120.0, ((0, 1.0),), _BOTH_WAYS, reverse_mbps=((0, 1.0),)),
}  # fmt: skip


_PRIORITIES = tuple(flow._replace(priority=priority) for flow, priority in zip(CASES["5.4"].media, (2.0, 1.0, 1.0), strict=True))
_AIR = Air()


def _on_air(flows: int, *traffic: Tcp | Udp, slow: int = 0) -> Case:
    flows_of = tuple(media(station_mbps=6.5) if i < slow else media() for i in range(flows))
    return Case(120.0, ((0, _AIR.mbps),), flows_of, traffic, air=_AIR)


EXTENDED_CASES = {
    **{f"6.1-{mbps:g}": CASES["5.4"]._replace(mbps=((0, mbps),), media=_PRIORITIES) for mbps in (3.5, 2.0)},
    **{f"6.2-{name[:3]}": CASES[name]._replace(discipline=Threshold(20.0)) for name in ("5.1-50", "5.4")},
    "6.3": Case(
        300.0, ((0, 2.0),), (media(way_ms=100.0), media(way_ms=40.0), media(way_ms=40.0, at_second=True)),
        second_mbps=((0, 1.5),), hop_ms=60.0,
    ),
    "wifi-one": CASES["wifi-cbr"]._replace(traffic=()),
    **{f"wifi-both-{kind}": CASES["wifi-both"]._replace(traffic=CASES[f"wifi-{kind}"].traffic) for kind in ("cbr", "tcp")},
    **{f"air-{flows}": _on_air(flows) for flows in (16, 24, 32)},
    "air-cbr": _on_air(24, *(Udp(600e3, starts_s=40.0, stops_s=80.0) for _ in range(4))),
    "air-tcp": _on_air(24, *(Tcp("reno", 1500, 50.0, 50.0, starts_s=40.0, stops_s=80.0) for _ in range(4))),
    "air-slow": _on_air(16, slow=4),
    "air-varying": _on_air(16),
}  # fmt: skip
_SENDS_FILES, _VARYING = "5.7", "air-varying"  # the cases of which more is drawn than the random parts of a world
_VARIANTS, _MIN_FREE = 8, 0.5


def traces_of(name: str, case: Case) -> tuple[CapacityTrace, ...]:
    """Return the capacity of the bottleneck, followed by that of the reverse direction or of a second bottleneck if the case has one.

    Raises:
        TraceError: a rate is not positive, or times do not rise.
    """
    capacities = {"": case.mbps, " back": case.reverse_mbps, " second": case.second_mbps}
    return tuple(steps(name + which, mbps, case.seconds) for which, mbps in capacities.items() if mbps or not which)


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
    late = ((0.0, first.starts_s),) if first.starts_s else ()
    link = SharedLink(
        name, seed, traces[0], queue_packets=8192, queue_bytes=_queue_bytes(case, traces[0]), discipline=case.discipline,
        forward_ms=first.forward_ms, backward_ms=first.backward_ms, flows=(*others, *case.traffic), audio=RMCAT_AUDIO, video=RMCAT_VIDEO,
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


def kinds_of(cases: dict[str, Case]) -> BottleneckKinds:
    """Return the recipe of scenario rmcat or rmcat-extended, whose cases are `CASES` or `EXTENDED_CASES`."""
    traces = {name: traces_of(name, case) for name, case in cases.items()}

    def sample(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
        case = cases[name]
        if name == _SENDS_FILES:
            case = case._replace(traffic=_short_tcp(draws))
        return case_link(name, seed, case, (trace, *traces[name][1:]))

    varying = tuple(map(_varying, range(_VARIANTS))) if _VARYING in cases else ()
    return BottleneckKinds(
        {name: Kind(everywhere(*(varying if name == _VARYING else of_kind[:1])), sample) for name, of_kind in traces.items()},
        flows=max(len(case.media) - 1 + (_SHORT_TCP if name == _SENDS_FILES else len(case.traffic)) for name, case in cases.items()),
        calls=max(len(case.media) for case in cases.values()) - 1,
        seconds=max(case.seconds for case in cases.values()),
        beside=tuple(trace for of_kind in traces.values() for trace in of_kind[1:]),
    )


def _short_tcp(draws: np.random.Generator) -> tuple[Tcp, ...]:
    starts_s = [0.0 if i < _START_ON else float(draws.exponential(_IDLE_S)) for i in range(_SHORT_TCP)]
    return tuple(Tcp("cubic", 1500, 50.0, 50.0, starts_s=at_s, file_bytes=_FILE_BYTES, idle_s=_IDLE_S) for at_s in starts_s)


def _varying(number: int) -> CapacityTrace:
    """Return the rate of the medium times the share of the air that other networks leave, anew each second of a case."""
    seconds = np.arange(EXTENDED_CASES[_VARYING].seconds)
    free = np.random.Generator(np.random.Philox(key=number)).uniform(_MIN_FREE, 1.0, len(seconds))
    return rate_trace(f"{_VARYING}-{number}", seconds, np.round(1e6 * _AIR.mbps * free), len(seconds))
