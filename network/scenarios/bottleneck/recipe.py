"""Interface between environments and scenarios over a bottleneck, from this package or from outside."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series


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
