"""Scenarios over a shared bottleneck: recipes that sample calls. (scenario, kind, split, seed) determine a world.

order           the seed paper on SBPN (S1): its traffic over 1 Mbit/s and 50 packets, drop-tail
    rtt30-q5 ... rtt150-q32   two Reno flows of 519-byte packets; round trip 30, 80 or 150 ms; a send queue of 5 or 32 packets
    loss0 ... loss10          10 Mbit/s without cross traffic, 0 to 10 % random loss; round trip 80 ms, 5 packets
rate            synthetic capacity for rate controllers
    steps       train and validation: random steps of capacity; test: the capacity of RFC 8867, cases 5.1 to 5.3
    cellular    generated traces (lab/shipped/sets/cellular_like.py)
    cubic       1 to 4 Mbit/s shared with a CUBIC flow
    wifi        2 to 4 Mbit/s, and a last hop that stalls now and then (the report on GCC over Wi-Fi, S4)
calls           1 to 3 other calls in the same queue of 1 to 4 Mbit/s, each with its own delay and start time
    gcc, tfrc   adaptive: GCC as in libwebrtc, or TFRC
    fixed       not adaptive: each at 30 to 90 % of an equal share
    mixed       any of these, and GCC of the draft
rmcat           the test cases of RFC 8867 and RFC 8869 (rmcat.py), one kind each; all media flows have the rules of the first
rmcat-extended  those of RFC 8867 6 and the wireless ones of RFC 8869 (rmcat.py)
rate-measured   capacity traces under the data root
    us-cellular    3G and LTE, delivery opportunities (mahimahi and New York)
    norway-hsdpa   3G on roads, rails and water
    us-broadband   fixed lines
    us-drive       satellite and three carriers from a car
rate-replay     capacity traces of your own (`traces`)
    replay      all of them

S1 gives neither the rate of its bottleneck nor its loss levels; ours are assumed. `order_link` accepts any.

Splits: traces are split by the place of measurement (60 % train, 20 % validation, 20 % test, by a hash of the name), everything else by
seed; fewer than `MIN_SPLIT_TRACES` traces of your own are split in time. A queue holds 0.3 s of the trace's mean rate, or of the call's
maximum rate if that is lower (RFC 8867's queue); in `cubic` and `wifi` 15,000 bytes, 30 to 120 ms.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, constant
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series, Timeline
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.bottleneck import rate_worlds, rmcat
from vcgym.network.scenarios.bottleneck.recipe import RUN_S, BottleneckKinds, BottleneckRecipe, Kind, everywhere, rates_of
from vcgym.network.scenarios.settings import absolute
from vcgym.network.scenarios.splits import world_seed
from vcgym.network.traces.cards import DataError

RTT_MS = (30.0, 80.0, 150.0)
SEND_QUEUE = (5, 32)  # packets; 32 packets of 519 bytes fill 16 KB
LOSS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
TCP_BYTES = 519
ORDER_MBPS = 1.0
LOSSY_MBPS = 10.0
_DISCARDED_S = 3.0
_INITIAL_BYTES = 4 * TCP_BYTES  # TFRC's initial window, RFC 3390


class SendingScenario:
    """Scenario over a bottleneck, a `BottleneckRecipe`, whose kinds of world are sampled with equal probability.

    Args:
        name: one of SENDING_SCENARIOS.
        data: folder of measured data, for `rate-measured` only; None: the environment variable VCGYM_DATA.
        traces: for `rate-replay` only: a folder or files of capacity traces, see `vcgym.network.bottleneck.capacity.files`.

    Attributes:
        data: as given.
        files: absolute paths of `traces`, as given.

    Raises:
        ValueError: an unknown name, or traces for another scenario.
        DataError: data is missing or broken.
    """

    def __init__(self, name: str, data: str | None = None, traces: str | Sequence[str] | None = None) -> None:
        one_of("scenario", name, SENDING_SCENARIOS)
        if traces is not None and name != "rate-replay":
            raise ValueError(f"traces = {traces!r}: allowed is None in scenario {name}; scenario rate-replay takes traces")
        self.name, self.data, self.files = name, data, absolute(traces)
        recipe = _RECIPES[name](data, self.files)
        self._kinds = recipe.kinds
        self.kinds = tuple(self._kinds)
        every = (trace for kind in self._kinds.values() for split in kind.traces.values() for trace in split)
        self.traces: Sequence[CapacityTrace] = list({id(trace): trace for trace in (*every, *recipe.beside)}.values())
        self.flows, self.calls, self.seconds, self.rates = recipe.flows, recipe.calls, recipe.seconds, recipe.rates
        self.series: Sequence[Series] = ()

    def draw(self, split: str, seed: int, kind: str | None = None) -> SharedLink:
        """Sample one world.

        Args:
            split: split that supplies traces and seeds.
            seed: any integer >= 0; the same seed in another split is another world.
            kind: one of `kinds`; None: sampled.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
            DataError: too few traces to have one in the split.
        """
        splits = tuple(self._kinds[self.kinds[0]].traces)
        drawn_seed, draws = world_seed(split, seed, splits)
        drawn = self.kinds[draws.integers(len(self.kinds))]
        if kind is not None:
            one_of(f"kind of scenario {self.name}", kind, self.kinds)
            drawn = kind
        chosen = self._kinds[drawn]
        traces = chosen.traces[split]
        if not traces:
            raise DataError(f"scenario {self.name}", f"traces of kind {drawn} in split {split}", 0, "at least 1; a set needs five places")
        return chosen.sample(drawn, drawn_seed, traces[draws.integers(len(traces))], draws)


class Several:
    """Several scenarios over a bottleneck, a `BottleneckRecipe`: world s is of scenario s modulo their number.

    Args:
        scenarios: the scenarios; kinds of the same name are those of the first that has it.
    """

    def __init__(self, scenarios: Sequence[BottleneckRecipe]) -> None:
        self._scenarios = list(scenarios)
        self.name = ", ".join(one.name for one in scenarios)
        self.kinds = tuple(dict.fromkeys(kind for one in scenarios for kind in one.kinds))
        self.traces: Sequence[CapacityTrace] = [trace for one in scenarios for trace in one.traces]
        self.series: Sequence[Series] = [series for one in scenarios for series in one.series]
        self.rates = [rate for one in scenarios for rate in rates_of(one)]
        self.flows, self.calls = max(one.flows for one in scenarios), max(one.calls for one in scenarios)
        self.seconds = max(one.seconds for one in scenarios)

    def draw(self, split: str, seed: int, kind: str | None = None) -> SharedLink:
        """Sample one world; for arguments and errors see `SendingScenario.draw`."""
        if kind is not None:
            one_of(f"kind of scenario {self.name}", kind, self.kinds)
        having = [one for one in self._scenarios if kind in one.kinds]
        return (having or self._scenarios)[0 if having else seed % len(self._scenarios)].draw(split, seed, kind)


def scenario_of(
    named: str | Sequence[str] | BottleneckRecipe, data: str | None = None, traces: str | Sequence[str] | None = None
) -> BottleneckRecipe:
    """Return the scenario of a name or of a list of names, or the recipe that it is; for arguments and errors see `SendingScenario`."""
    if isinstance(named, str):
        return SendingScenario(named, data, traces)
    if not isinstance(named, list | tuple):
        return named  # type: ignore[return-value]
    if not named or len(set(named)) < len(named):
        raise ValueError(f"scenario = {named!r}: allowed is a list of different names of {', '.join(SENDING_SCENARIOS)}")
    return Several([SendingScenario(one, data, traces if one == "rate-replay" else None) for one in named])


def order_link(
    name: str, seed: int, trace: CapacityTrace, rtt_ms: float = 80.0, send_queue: int = 5, loss: float = 0.0, flows: int = 2
) -> SharedLink:  # fmt: skip
    """Return a world of S1 over a bottleneck of any rate.

    Args:
        name: name of the kind, for tables.
        seed: seed of the world.
        trace: capacity.
        rtt_ms: round trip without queueing; half of it each way.
        send_queue: capacity of the send queue in packets.
        loss: probability of random loss.
        flows: number of competing Reno flows of 519-byte packets; each starts within the first second.
    """
    way_ms = rtt_ms / 2.0
    key = np.uint64(rng.stream_key(np.uint64(seed), 1, rng.SCENARIO))
    starts_s = [float(rng.uniform(key, i)) for i in range(flows)]
    flows_of = tuple(Tcp("reno", TCP_BYTES, way_ms, way_ms, starts_s=at_s) for at_s in starts_s)
    return SharedLink(
        name, seed, trace, forward_ms=way_ms, backward_ms=way_ms, loss=loss, flows=flows_of, video=Timeline(), seconds=RUN_S,
        counts_from_s=_DISCARDED_S, send_queue=send_queue, rates_kbps=(8.0 * _INITIAL_BYTES / rtt_ms, 1.0, 1e5),
    )  # fmt: skip


def _order() -> BottleneckKinds:
    shared, lossy = everywhere(constant(ORDER_MBPS * 1e6)), everywhere(constant(LOSSY_MBPS * 1e6))
    levels = [(rtt_ms, n) for rtt_ms in RTT_MS for n in SEND_QUEUE]
    kinds = {
        **{f"rtt{rtt_ms:.0f}-q{n}": Kind(shared, partial(_sample, rtt_ms=rtt_ms, send_queue=n)) for rtt_ms, n in levels},
        **{f"loss{100 * loss:g}": Kind(lossy, partial(_sample, loss=loss, flows=0)) for loss in LOSS},
    }
    return BottleneckKinds(kinds, flows=2)


def _sample(name: str, seed: int, trace: CapacityTrace, draws: np.random.Generator, **settings: Any) -> SharedLink:
    return order_link(name, seed, trace, **settings)


_RECIPES: dict[str, Callable[[str | None, tuple[str, ...] | None], BottleneckKinds]] = {
    "order": lambda data, files: _order(),
    "rate": lambda data, files: rate_worlds.declared(),
    "calls": lambda data, files: rate_worlds.calls(),
    "rmcat": lambda data, files: rmcat.kinds_of(rmcat.CASES),
    "rate-measured": lambda data, files: rate_worlds.measured(data),
    "rate-replay": lambda data, files: rate_worlds.replayed(files),
    "rmcat-extended": lambda data, files: rmcat.kinds_of(rmcat.EXTENDED_CASES),
}
SENDING_SCENARIOS = tuple(_RECIPES)
