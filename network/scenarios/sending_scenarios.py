"""Scenarios of the sending half: recipes that draw calls over a shared bottleneck. A world follows from (scenario, kind, split, seed).

order           the seed paper on SBPN (S1): its traffic over 1 Mbit/s and 50 packets, drop-tail
    rtt30-q5 ... rtt150-q32   two Reno flows of 519-byte packets; round trip 30, 80 or 150 ms; 5 or 32 packets may wait at the sender
    loss0 ... loss10          no other flow and 10 Mbit/s, but 0 to 10 % random loss; round trip 80 ms, 5 packets
rate            what a rate rule has to follow, nothing measured
    steps       train and validation: capacity that jumps at random; test: the courses of RFC 8867, cases 5.1 to 5.3
    cellular    generated traces (cellular_like.py)
    cubic       1 to 4 Mbit/s, in which a CUBIC flow takes what it can
    wifi        2 to 4 Mbit/s, and a last hop that stands still now and then (the report on GCC over Wi-Fi, S4)
calls           other calls in the queue, 1 to 3 of them over 1 to 4 Mbit/s, each with a way and a beginning of its own
    gcc, tfrc   which adapt, by GCC as in libwebrtc, or by TFRC
    fixed       which do not, each at 30 to 90 % of an equal share
    mixed       any of these, and GCC of the draft
rate-measured   capacity traces found under the data root
    us-cellular    3G and LTE, chances to send (mahimahi and New York)
    norway-hsdpa   3G on roads, rails and water
    us-broadband   fixed lines
    us-drive       satellite and three carriers from a car

S1 names neither the rate of its bottleneck nor its levels of loss: both are ours. `order_link` takes any.

Splits: of traces by the place they were measured at (60 % train, 20 % validation, 20 % test, by a hash of the name), of all else by seed. A
queue holds 0.3 s of the trace's mean rate, or of the call's largest rate where that is less (RFC 8867's queue); in `cubic` and `wifi`
15,000 bytes, 30 to 120 ms.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vcgym.network.bottleneck.capacity import CapacityTrace, constant, mean_bps, rate_trace, steps
from vcgym.network.bottleneck.capacity_sets import GENERATED, place_of_trace, read_set
from vcgym.network.bottleneck.cross_traffic import Tcp
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series, Timeline
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.splits import SPLITS, check_split

SENDING_SCENARIOS = ("order", "rate", "calls", "rate-measured")

RTT_MS = (30.0, 80.0, 150.0)
SEND_QUEUE = (5, 32)  # packets; 32 is what 16 KB hold of 519 bytes
LOSS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
TCP_BYTES = 519
ORDER_MBPS = 1.0
LOSSY_MBPS = 10.0
_RUN_S, _DISCARDED_S = 60.0, 3.0
_INITIAL_BYTES = 4 * TCP_BYTES  # of TFRC, RFC 3390

_QUEUE_S = 0.3
_LEAST_QUEUE_BYTES = 15_000
_RATE_KBPS = (300.0, 50.0, 4000.0)
_WIFI_KBPS = (300.0, 50.0, 2500.0)  # S4's encoder goes no further
_WIFI_WORKS_MS = 200.0
_MBPS = {"cubic": (1.0, 2.0, 3.0, 4.0), "wifi": (2.0, 3.0, 4.0)}
_FORWARD_MS = (10.0, 75.0)
_CALLS_MBPS = (1.0, 2.0, 3.0, 4.0)
_MOST_CALLS = 3
_CALLS = {"gcc": ("gcc_webrtc",), "tfrc": ("tfrc",), "fixed": ("fixed",), "mixed": ("gcc_webrtc", "gcc_draft", "tfrc", "fixed")}
_FIXED_SHARE = (0.3, 0.9)
_BY_PACKET = ("tfrc",)  # whose packets leave as far apart as the rate says; the others' pacer is libwebrtc's
_STEPS = {"train": 24, "validation": 8}
_STEP_MBPS = (0.4, 4.0)
_STEP_S = (8.0, 30.0)
_STEPS_LENGTH_S = 100.0

# RFC 8867 5.1 to 5.3 (forward): s and Mbit/s, length.
RFC8867 = {
    "rfc8867-5.1": (((0.0, 1.0), (40.0, 2.5), (60.0, 0.6), (80.0, 1.0)), 100.0),
    "rfc8867-5.2": (((0.0, 4.0), (25.0, 2.0), (50.0, 3.5), (75.0, 1.0), (100.0, 2.0)), 125.0),
    "rfc8867-5.3": (((0.0, 2.0), (20.0, 1.0), (40.0, 0.5), (60.0, 2.0)), 100.0),
}
SETS = {
    "us-cellular": ("mahimahi", "nyc_cellular_2019"),
    "norway-hsdpa": ("norway_hsdpa",),
    "us-broadband": ("fcc_broadband",),
    "us-drive": ("us_drive_starlink_cellular",),
}


class _Kind(NamedTuple):
    """One kind of world."""

    traces: dict[str, tuple[CapacityTrace, ...]]  # by split
    draw: Callable[[str, int, CapacityTrace, np.random.Generator], SharedLink]


class SendingScenario:
    """One scenario.

    Args:
        name: one of SENDING_SCENARIOS.
        data: folder of measured data, for `rate-measured`; None: the environment variable VCGYM_DATA. Without effect elsewhere.

    Attributes:
        kinds: names of its kinds of world, each drawn as often as the others.
        traces: every capacity trace that a world may have.
        flows: largest number of other flows beside a call.
        calls: largest number of calls among them.
        series: every series of frame sizes that a world may have.
        data: as given.
        seconds: length of the longest call.

    Raises:
        ValueError: an unknown name.
        DataError: data that is missing or broken.
    """

    def __init__(self, name: str, data: str | None = None) -> None:
        one_of("scenario", name, SENDING_SCENARIOS)
        self.name, self.data = name, data
        without_data = {"order": _order_kinds, "rate": _rate_kinds, "calls": _calls_kinds}
        self._kinds = without_data[name]() if name in without_data else _measured_kinds(data)
        self.kinds = tuple(self._kinds)
        every = (trace for kind in self._kinds.values() for split in kind.traces.values() for trace in split)
        self.traces: Sequence[CapacityTrace] = list({id(trace): trace for trace in every}.values())
        self.calls = _MOST_CALLS if name == "calls" else 0
        self.flows = {"order": 2, "rate": 1}.get(name, self.calls)
        self.series: Sequence[Series] = ()
        self.seconds = 125.0 if name == "rate" else _RUN_S

    def draw(self, split: str, seed: int, kind: str | None = None) -> SharedLink:
        """Draw one world.

        Args:
            split: which traces and seeds it may use.
            seed: any integer >= 0; the same seed in another split is another world.
            kind: one of `kinds`; None: drawn.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
        """
        check_split(split)
        world_seed = int(rng.stream_key(np.uint64(seed), SPLITS.index(split), rng.SCENARIO))
        draws = np.random.Generator(np.random.Philox(key=world_seed))
        drawn = self.kinds[draws.integers(len(self.kinds))]
        if kind is not None:
            one_of(f"kind of scenario {self.name}", kind, self.kinds)
            drawn = kind
        chosen = self._kinds[drawn]
        traces = chosen.traces[split]
        return chosen.draw(drawn, world_seed, traces[draws.integers(len(traces))], draws)


def order_link(
    name: str, seed: int, trace: CapacityTrace, rtt_ms: float = 80.0, send_queue: int = 5, loss: float = 0.0, flows: int = 2
) -> SharedLink:  # fmt: skip
    """One run of S1 over a bottleneck of any rate.

    Args:
        name: of the kind, for tables.
        seed: of the world.
        trace: capacity.
        rtt_ms: round trip without queueing; half of it each way.
        send_queue: packets that may wait at the sender.
        loss: share lost at random.
        flows: how many Reno flows of 519-byte packets compete, each from a moment of the first second on.
    """
    way_ms = rtt_ms / 2.0
    key = np.uint64(rng.stream_key(np.uint64(seed), 1, rng.SCENARIO))
    starts_s = [float(rng.uniform(key, i)) for i in range(flows)]
    return SharedLink(
        name,
        seed,
        trace,
        forward_ms=way_ms,
        backward_ms=way_ms,
        loss=loss,
        flows=tuple(Tcp("reno", TCP_BYTES, way_ms, way_ms, starts_s=at_s) for at_s in starts_s),
        video=Timeline(),
        seconds=_RUN_S,
        counts_from_s=_DISCARDED_S,
        send_queue=send_queue,
        rates_kbps=(8.0 * _INITIAL_BYTES / rtt_ms, 1.0, 1e5),
    )


def split_by_place(set_name: str, traces: tuple[CapacityTrace, ...]) -> dict[str, tuple[CapacityTrace, ...]]:
    """The traces of a set by split: its places in order of their hashes, the first 60 % train, then 20 % validation, the rest test."""
    places = sorted({place_of_trace(set_name, t.name) for t in traces}, key=lambda place: hashlib.sha256(place.encode()).hexdigest())
    bounds = [0, math.ceil(0.6 * len(places)), math.ceil(0.8 * len(places)), len(places)]
    members = {split: set(places[bounds[i] : bounds[i + 1]]) for i, split in enumerate(SPLITS)}
    return {split: tuple(t for t in traces if place_of_trace(set_name, t.name) in members[split]) for split in SPLITS}


def _everywhere(*traces: CapacityTrace) -> dict[str, tuple[CapacityTrace, ...]]:
    return dict.fromkeys(SPLITS, traces)


def _order_kinds() -> dict[str, _Kind]:
    shared, lossy = _everywhere(constant(ORDER_MBPS * 1e6)), _everywhere(constant(LOSSY_MBPS * 1e6))
    levels = [(rtt_ms, n) for rtt_ms in RTT_MS for n in SEND_QUEUE]
    return {
        **{f"rtt{rtt_ms:.0f}-q{n}": _Kind(shared, partial(_draw_shared, rtt_ms=rtt_ms, send_queue=n)) for rtt_ms, n in levels},
        **{f"loss{100 * loss:g}": _Kind(lossy, partial(_draw_lossy, loss=loss)) for loss in LOSS},
    }


def _draw_shared(
    name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator, rtt_ms: float, send_queue: int
) -> SharedLink:  # fmt: skip
    return order_link(name, seed, trace, rtt_ms, send_queue)


def _draw_lossy(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator, loss: float) -> SharedLink:
    return order_link(name, seed, trace, loss=loss, flows=0)


def _rate_kinds() -> dict[str, _Kind]:
    constants = {mbps: constant(mbps * 1e6) for mbps in sorted({m for several in _MBPS.values() for m in several})}
    courses = {split: tuple(_draw_steps(split, i) for i in range(n)) for split, n in _STEPS.items()}
    courses["test"] = tuple(steps(name, changes, length_s) for name, (changes, length_s) in RFC8867.items())
    return {
        "steps": _Kind(courses, _draw_course),
        "cellular": _Kind(split_by_place(GENERATED, read_set(GENERATED)), _draw_trace),
        "cubic": _Kind(_everywhere(*(constants[mbps] for mbps in _MBPS["cubic"])), _draw_cubic),
        "wifi": _Kind(_everywhere(*(constants[mbps] for mbps in _MBPS["wifi"])), _draw_wifi),
    }


def _calls_kinds() -> dict[str, _Kind]:
    traces = _everywhere(*(constant(mbps * 1e6) for mbps in _CALLS_MBPS))
    return {kind: _Kind(traces, partial(_draw_calls, rates=rates)) for kind, rates in _CALLS.items()}


def _measured_kinds(data: str | None) -> dict[str, _Kind]:
    kinds = {}
    for kind, names in SETS.items():
        parts = [split_by_place(name, read_set(name, data)) for name in names]
        kinds[kind] = _Kind({split: tuple(t for part in parts for t in part[split]) for split in SPLITS}, _draw_trace)
    return kinds


def _draw_steps(split: str, number: int) -> CapacityTrace:
    """Levels are log-uniform."""
    draws = np.random.Generator(np.random.Philox(key=int(rng.stream_key(np.uint64(number), SPLITS.index(split), rng.EVENT))))
    times_s, mbps, at_s = [], [], 0.0
    while at_s < _STEPS_LENGTH_S - _STEP_S[0]:
        times_s.append(at_s)
        mbps.append(math.exp(draws.uniform(math.log(_STEP_MBPS[0]), math.log(_STEP_MBPS[1]))))
        at_s += draws.uniform(*_STEP_S)
    return rate_trace(f"steps-{split}-{number}", times_s, np.round(mbps, 3) * 1e6, _STEPS_LENGTH_S)


def _link(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    forward_ms = round(float(draws.uniform(*_FORWARD_MS)), 3)
    queue_bytes = int(max(_QUEUE_S * min(mean_bps(trace), 1000.0 * _RATE_KBPS[2]) / 8.0, _LEAST_QUEUE_BYTES))
    return SharedLink(
        name, seed, trace, queue_packets=8192, queue_bytes=queue_bytes, forward_ms=forward_ms, backward_ms=forward_ms,
        rates_kbps=_RATE_KBPS, seconds=_RUN_S,
    )  # fmt: skip


def _draw_course(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    return _link(name, seed, trace, draws)._replace(seconds=trace.length_us / 1e6)


def _draw_trace(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    return _link(name, seed, trace, draws)._replace(start_us=1000 * int(draws.integers(trace.length_us // 1000)))


def _draw_cubic(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    draws.choice(2)  # without effect; what is drawn after it has to stay as it is
    link = _link(name, seed, trace, draws)._replace(queue_bytes=_LEAST_QUEUE_BYTES)
    begins_s = float(draws.uniform(0.0, 10.0))
    return link._replace(flows=(Tcp("cubic", 1500, link.forward_ms, link.backward_ms, starts_s=begins_s),))


def _draw_calls(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator, rates: tuple[str, ...]) -> SharedLink:
    link = _link(name, seed, trace, draws)
    others = int(draws.integers(1, _MOST_CALLS + 1))
    return link._replace(flows=tuple(_draw_call(str(draws.choice(rates)), mean_bps(trace) / (others + 1), draws) for _ in range(others)))


def _draw_call(rate: str, share_bps: float, draws: np.random.Generator) -> OtherCall:
    way_ms, starts_s = round(float(draws.uniform(*_FORWARD_MS)), 3), float(draws.uniform(0.0, 10.0))
    fixed_kbps = float(draws.uniform(*_FIXED_SHARE)) * share_bps / 1000.0
    return OtherCall(
        rate, pacing=0.0 if rate in _BY_PACKET else 2.5, rates_kbps=(fixed_kbps,) * 3 if rate == "fixed" else _RATE_KBPS,
        forward_ms=way_ms, backward_ms=way_ms, starts_s=starts_s,
    )  # fmt: skip


def _draw_wifi(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    link = _link(name, seed, trace, draws)._replace(queue_bytes=_LEAST_QUEUE_BYTES)
    return link._replace(works_ms=_WIFI_WORKS_MS, rates_kbps=_WIFI_KBPS)
