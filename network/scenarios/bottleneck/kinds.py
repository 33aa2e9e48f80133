"""Recipes of calls over a shared bottleneck: kinds of world, each with its capacity traces by split and a function that samples a call."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.capacity.sets import place_of_trace
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.splits import SPLITS, split_by_hash

RUN_S = 60.0

Traces = dict[str, tuple[CapacityTrace, ...]]  # by split


class Kind(NamedTuple):
    """Kind of world."""

    traces: Traces
    sample: Callable[[str, int, CapacityTrace, np.random.Generator], SharedLink]  # (kind, seed of the world, trace, random numbers)


class BottleneckKinds(NamedTuple):
    """Kinds of world of a scenario, by name, and bounds over all of them.

    Attributes:
        kinds: each is sampled as often as the others.
        flows: maximum number of other flows in a call's world.
        calls: maximum number of calls among them.
        seconds: length of the longest call.
        beside: capacity traces of reverse directions and of second bottlenecks.
        rates: every rate rule without a name that one of those calls may have.
    """

    kinds: dict[str, Kind]
    flows: int = 0
    calls: int = 0
    seconds: float = RUN_S
    beside: tuple[CapacityTrace, ...] = ()
    rates: tuple[Any, ...] = ()


def everywhere(*traces: CapacityTrace) -> Traces:
    """Return the same traces for every split."""
    return dict.fromkeys(SPLITS, traces)


def split_by_place(set_name: str, traces: Iterable[CapacityTrace]) -> Traces:
    """Return the traces of a set by split (`split_by_hash`), with all traces of a place in the same split."""
    traces = tuple(traces)
    places = split_by_hash(place_of_trace(set_name, trace.name) for trace in traces)
    return {split: tuple(trace for trace in traces if place_of_trace(set_name, trace.name) in places[split]) for split in SPLITS}
