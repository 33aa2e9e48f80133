"""Scenarios of calls over a bottleneck: the interface to environments, and kinds of world, each with its capacity traces by split."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.capacity.sets import place_of_trace
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series
from vcgym.network.scenarios.splits import SPLITS, split_by_hash

RUN_S = 60.0


class BottleneckRecipe(Protocol):
    """A scenario of calls over a shared bottleneck. It may also have `rates`, see `rates_of`.

    Attributes:
        name: name of the scenario.
        kinds: names of its kinds of world.
        traces: every capacity trace that a world may have.
        flows: maximum number of other flows in a call's world.
        calls: maximum number of calls among them.
        series: every series of frame sizes that a world may have.
        seconds: length of the longest call.
    """

    name: str
    kinds: tuple[str, ...]
    traces: Sequence[CapacityTrace]
    flows: int
    calls: int
    series: Sequence[Series]
    seconds: float

    def draw(self, split: str, seed: int, kind: str | None = None) -> SharedLink:
        """Sample one world.

        Args:
            split: split that supplies traces and seeds.
            seed: any integer >= 0.
            kind: one of `kinds`; None: sampled.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
        """


def rates_of(scenario: BottleneckRecipe) -> Sequence[Any]:
    """Return `rates` of a scenario, if it has them: every rate rule without a name that another call of its worlds may have."""
    return getattr(scenario, "rates", ())


def data_hash(scenario: BottleneckRecipe) -> str:
    """Return the SHA-256 of the capacity traces, frame sizes and unnamed rate rules of a scenario's worlds."""
    digest = hashlib.sha256(scenario.name.encode())
    for trace in scenario.traces:
        digest.update(f"{trace.name} {trace.length_us}".encode())
        digest.update(trace.times_us.tobytes())
        digest.update(trace.rates_bps.tobytes())
        for values in trace.conditions or ():
            digest.update(values.tobytes())
    for series in scenario.series:
        digest.update(series.sizes_bytes.tobytes())
    for rate in rates_of(scenario):
        digest.update(repr(rate).encode())
    return digest.hexdigest()


Traces = dict[str, tuple[CapacityTrace, ...]]  # by split


class Kind(NamedTuple):
    """Kind of world."""

    traces: Traces
    sample: Callable[[str, int, CapacityTrace, np.random.Generator], SharedLink]  # (kind, seed of the world, trace, random numbers)


class BottleneckKinds(NamedTuple):
    """Kinds of world of a scenario, by name, and bounds over all of them."""

    kinds: dict[str, Kind]  # each is sampled as often as the others
    flows: int = 0  # maximum number of other flows in a call's world
    calls: int = 0  # maximum number of calls among them
    seconds: float = RUN_S  # length of the longest call
    beside: tuple[CapacityTrace, ...] = ()  # capacity traces of reverse directions and of second bottlenecks
    rates: tuple[Any, ...] = ()  # every rate rule without a name that one of those calls may have


def everywhere(*traces: CapacityTrace) -> Traces:
    """Return the same traces for every split."""
    return dict.fromkeys(SPLITS, traces)


def split_by_place(set_name: str, traces: Iterable[CapacityTrace]) -> Traces:
    """Return the traces of a set by split (`split_by_hash`), with all traces of a place in the same split."""
    traces = tuple(traces)
    places = split_by_hash(place_of_trace(set_name, trace.name) for trace in traces)
    return {split: tuple(trace for trace in traces if place_of_trace(set_name, trace.name) in places[split]) for split in SPLITS}
