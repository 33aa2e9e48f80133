"""Worlds for rate control: scenarios rate, calls, rate-measured and rate-replay of `sending_scenarios.py`."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, constant, cut, mean_bps, rate_trace, steps
from vcgym.network.bottleneck.capacity.files import read_capacity
from vcgym.network.bottleneck.capacity.sets import GENERATED, read_folder, read_set
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels import rng
from vcgym.network.scenarios.bottleneck.recipe import RUN_S, BottleneckKinds, Kind, everywhere, split_by_place
from vcgym.network.scenarios.paths.replay import PART_OF_TRACE
from vcgym.network.scenarios.splits import ALL, SPLITS
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.trace_file import ENDING

MIN_SPLIT_TRACES = 5
_QUEUE_S = 0.3
_MIN_QUEUE_BYTES = 15_000
_RATE_KBPS = (300.0, 50.0, 4000.0)
_WIFI_KBPS = (300.0, 50.0, 2500.0)  # S4's encoder has this maximum
_WIFI_WORKS_MS = 200.0
_MBPS = {"cubic": (1.0, 2.0, 3.0, 4.0), "wifi": (2.0, 3.0, 4.0)}
_FORWARD_MS = (10.0, 75.0)
_CALLS_MBPS = (1.0, 2.0, 3.0, 4.0)
_MAX_CALLS = 3
_CALLS = {"gcc": ("gcc_webrtc",), "tfrc": ("tfrc",), "fixed": ("fixed",), "mixed": ("gcc_webrtc", "gcc_draft", "tfrc", "fixed")}
_FIXED_SHARE = (0.3, 0.9)
_BY_PACKET = ("tfrc",)  # rules that space packets by the rate; the others use libwebrtc's pacer
_STEPS = {"train": 24, "validation": 8}
_STEP_MBPS = (0.4, 4.0)
_STEP_S = (8.0, 30.0)
_STEPS_LENGTH_S = 100.0

# RFC 8867 5.1 to 5.3 (forward direction): (s, Mbit/s) pairs and length.
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


def declared() -> BottleneckKinds:
    """Return the recipe of scenario rate."""
    constants = {mbps: constant(mbps * 1e6) for mbps in sorted({m for several in _MBPS.values() for m in several})}
    changing = {split: tuple(_sample_steps(split, i) for i in range(n)) for split, n in _STEPS.items()}
    changing["test"] = tuple(steps(name, changes, length_s) for name, (changes, length_s) in RFC8867.items())
    kinds = {
        "steps": Kind(changing, _sample_changing),
        "cellular": Kind(split_by_place(GENERATED, read_set(GENERATED)), _sample_trace),
        "cubic": Kind(everywhere(*(constants[mbps] for mbps in _MBPS["cubic"])), _sample_cubic),
        "wifi": Kind(everywhere(*(constants[mbps] for mbps in _MBPS["wifi"])), _sample_wifi),
    }
    return BottleneckKinds(kinds, flows=1, seconds=max(length_s for _, length_s in RFC8867.values()))


def calls() -> BottleneckKinds:
    """Return the recipe of scenario calls."""
    traces = everywhere(*(constant(mbps * 1e6) for mbps in _CALLS_MBPS))
    kinds = {kind: Kind(traces, partial(_sample_calls, rates=rates)) for kind, rates in _CALLS.items()}
    return BottleneckKinds(kinds, flows=_MAX_CALLS, calls=_MAX_CALLS)


def measured(data: str | None) -> BottleneckKinds:
    """Return the recipe of scenario rate-measured.

    Raises:
        DataError: data that is missing or broken.
    """
    kinds = {}
    for kind, names in SETS.items():
        parts = [split_by_place(name, read_set(name, data)) for name in names]
        kinds[kind] = Kind({split: tuple(t for part in parts for t in part[split]) for split in SPLITS}, _sample_trace)
    return BottleneckKinds(kinds)


def replayed(files: Sequence[str] | None) -> BottleneckKinds:
    """Return the recipe of scenario rate-replay; five or more traces are split by name, fewer in time.

    Raises:
        DataError: traces are missing or broken.
    """
    traces = _read_named(files)
    names = [trace.name for trace in traces]
    if len(set(names)) < len(names):
        raise DataError("scenario rate-replay", "names of the traces", sorted(names), "each name once")
    if len(traces) < MIN_SPLIT_TRACES:
        by_split = {split: tuple(cut(trace, *PART_OF_TRACE[split]) for trace in traces) for split in SPLITS}
    else:
        by_split = split_by_place("rate-replay", traces)
    by_split[ALL] = traces
    for trace in (trace for split in by_split.values() for trace in split):
        if trace.length_us < 1000:
            raise DataError("scenario rate-replay", f"length of the part of {trace.name} for a split, us", trace.length_us, "at least 1000")
    return BottleneckKinds({"replay": Kind(by_split, _sample_trace)})


def _read_named(files: Sequence[str] | None) -> tuple[CapacityTrace, ...]:
    if not files:
        raise DataError("scenario rate-replay", "traces", files, f"a folder of capacity traces (*{ENDING}), or files")
    if len(files) == 1 and Path(files[0]).is_dir():
        return read_folder(Path(files[0]))
    return tuple(trace for file in files for trace in read_capacity(Path(file)))


def _sample_steps(split: str, number: int) -> CapacityTrace:
    """Sample a step trace with log-uniform levels."""
    draws = np.random.Generator(np.random.Philox(key=int(rng.stream_key(np.uint64(number), SPLITS.index(split), rng.EVENT))))
    times_s, mbps, at_s = [], [], 0.0
    while at_s < _STEPS_LENGTH_S - _STEP_S[0]:
        times_s.append(at_s)
        mbps.append(math.exp(draws.uniform(math.log(_STEP_MBPS[0]), math.log(_STEP_MBPS[1]))))
        at_s += draws.uniform(*_STEP_S)
    return rate_trace(f"steps-{split}-{number}", times_s, np.round(mbps, 3) * 1e6, _STEPS_LENGTH_S)


def _link(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    forward_ms = round(float(draws.uniform(*_FORWARD_MS)), 3)
    if trace.conditions is not None:
        forward_ms = trace.conditions.floor_us / 1000.0
    queue_bytes = int(max(_QUEUE_S * min(mean_bps(trace), 1000.0 * _RATE_KBPS[2]) / 8.0, _MIN_QUEUE_BYTES))
    return SharedLink(
        name, seed, trace, queue_packets=8192, queue_bytes=queue_bytes, forward_ms=forward_ms, backward_ms=forward_ms,
        rates_kbps=_RATE_KBPS, seconds=RUN_S,
    )  # fmt: skip


def _sample_changing(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    return _link(name, seed, trace, draws)._replace(seconds=trace.length_us / 1e6)


def _sample_trace(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    return _link(name, seed, trace, draws)._replace(start_us=1000 * int(draws.integers(trace.length_us // 1000)))


def _sample_cubic(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    draws.choice(2)  # keeps the worlds of frozen suites unchanged: an earlier version chose between two flows here
    link = _link(name, seed, trace, draws)._replace(queue_bytes=_MIN_QUEUE_BYTES)
    begins_s = float(draws.uniform(0.0, 10.0))
    return link._replace(flows=(Tcp("cubic", 1500, link.forward_ms, link.backward_ms, starts_s=begins_s),))


def _sample_calls(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator, rates: tuple[str, ...]) -> SharedLink:
    link = _link(name, seed, trace, draws)
    others = int(draws.integers(1, _MAX_CALLS + 1))
    return link._replace(flows=tuple(_sample_call(str(draws.choice(rates)), mean_bps(trace) / (others + 1), draws) for _ in range(others)))


def _sample_call(rate: str, share_bps: float, draws: np.random.Generator) -> OtherCall:
    way_ms, starts_s = round(float(draws.uniform(*_FORWARD_MS)), 3), float(draws.uniform(0.0, 10.0))
    fixed_kbps = float(draws.uniform(*_FIXED_SHARE)) * share_bps / 1000.0
    return OtherCall(
        rate, pacing=0.0 if rate in _BY_PACKET else 2.5, rates_kbps=(fixed_kbps,) * 3 if rate == "fixed" else _RATE_KBPS,
        forward_ms=way_ms, backward_ms=way_ms, starts_s=starts_s,
    )  # fmt: skip


def _sample_wifi(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator) -> SharedLink:
    link = _link(name, seed, trace, draws)._replace(queue_bytes=_MIN_QUEUE_BYTES)
    return link._replace(works_ms=_WIFI_WORKS_MS, rates_kbps=_WIFI_KBPS)
