"""Scenario rmcat-extended: the cases of RFC 8867 6, and those of RFC 8869 4 that scenario rmcat leaves out.

6.1-3.5, 6.1-2    5.4 with priority 2 for the first flow, over 3.5 and 2 Mbit/s
6.2-5.1, 6.2-5.4  5.1 and 5.4 behind a queue that marks packets which would wait for more than 20 ms
6.3               two bottlenecks of 2 and 1.5 Mbit/s; one flow passes both, two pass one each
wifi-one, wifi-both-cbr, wifi-both-tcp    4.1: one flow; one in each direction and 300 kbit/s or TCP from 40 to 80 s
air-16, air-24, air-32   4.2: media flows of as many stations on one medium (`Air`)
air-cbr, air-tcp  4.2: 24 flows, and four of 600 kbit/s or four TCP connections (Reno) from 40 to 80 s
air-slow          16 flows, four of them from stations with a rate of 6.5 Mbit/s (4.3, MCS 0)
air-varying       16 flows; other networks leave a share of the air that is drawn anew each second, uniform in 50 to 100 %

Numbers of flows, rates and times of RFC 8869 4: ns3-rmcat. Our choices: 2 Mbit/s in 6.1, where 3.5 Mbit/s do not let the first flow have
twice the rate of the others below its maximum; the marking of 6.2; the slow stations and the course of the air. On the medium uplink and
downlink are the same. 6.3 has no queue at its middle link of 8 Mbit/s, which 2 Mbit/s enter.
"""

import numpy as np

from vcgym.network.bottleneck.airtime import Air
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, rate_trace
from vcgym.network.bottleneck.discipline import Threshold
from vcgym.network.bottleneck.flow import Tcp, Udp
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.recipe import BottleneckKinds, Kind, everywhere
from vcgym.network.scenarios.bottleneck.rmcat import CASES, Case, Media, case_link, traces_of

_PRIORITIES = tuple(media._replace(priority=priority) for media, priority in zip(CASES["5.4"].media, (2.0, 1.0, 1.0), strict=True))
_AIR = Air()


def _on_air(flows: int, *traffic: Tcp | Udp, slow: int = 0) -> Case:
    media = tuple(Media(station_mbps=6.5) if i < slow else Media() for i in range(flows))
    return Case(120.0, ((0, _AIR.mbps),), media, traffic, air=_AIR)


EXTENDED_CASES = {
    **{f"6.1-{mbps:g}": CASES["5.4"]._replace(mbps=((0, mbps),), media=_PRIORITIES) for mbps in (3.5, 2.0)},
    **{f"6.2-{name[:3]}": CASES[name]._replace(discipline=Threshold(20.0)) for name in ("5.1-50", "5.4")},
    "6.3": Case(
        300.0, ((0, 2.0),), (Media(way_ms=100.0), Media(way_ms=40.0), Media(way_ms=40.0, at_second=True)),
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
_COURSES, _MIN_FREE = 8, 0.5


def rmcat_extended() -> BottleneckKinds:
    """Return the recipe of scenario rmcat-extended."""
    traces = {name: traces_of(name, case) for name, case in EXTENDED_CASES.items()}

    def sample(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
        return case_link(name, seed, EXTENDED_CASES[name], (trace, *traces[name][1:]))

    kinds = {name: Kind(everywhere(of_kind[0]), sample) for name, of_kind in traces.items()}
    kinds["air-varying"] = Kind(everywhere(*map(_varying, range(_COURSES))), sample)
    return BottleneckKinds(
        kinds,
        flows=max(len(case.media) - 1 + len(case.traffic) for case in EXTENDED_CASES.values()),
        calls=max(len(case.media) for case in EXTENDED_CASES.values()) - 1,
        seconds=max(case.seconds for case in EXTENDED_CASES.values()),
        beside=tuple(trace for of_kind in traces.values() for trace in of_kind[1:]),
    )


def _varying(number: int) -> CapacityTrace:
    """Return the rate of the medium times the share of the air that other networks leave, anew each second of a case."""
    seconds = np.arange(EXTENDED_CASES["air-varying"].seconds)
    free = np.random.Generator(np.random.Philox(key=number)).uniform(_MIN_FREE, 1.0, len(seconds))
    return rate_trace(f"air-varying-{number}", seconds, np.round(1e6 * _AIR.mbps * free), len(seconds))
