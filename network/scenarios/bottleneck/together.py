"""Worlds in which several calls of one kind share a bottleneck: a world of one call, with as many times its capacity."""

from collections.abc import Sequence

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import require_whole
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe

MAX_CALLS = 32
FORWARD_MS = (10.0, 75.0)  # of the calls after the first, as in scenario rate
APART_S = 10.0  # they begin within the first 10 s, and end within the last 10 s; at most a third of the call


class CallsTogether:
    """Scenario of calls that share a bottleneck, a `BottleneckRecipe`: the first lasts as in `scenario`, the others join and leave.

    Capacity and queue are those of `scenario` times the number of calls, so each call's equal share is what the call of `scenario` has;
    other flows of that scenario stay as they are.

    Args:
        scenario: a scenario of one call.
        calls: number of calls, 2 to MAX_CALLS.
        seconds: length of the first call; None: that of `scenario`.

    Raises:
        ValueError: another number, or `scenario` has other calls.
    """

    def __init__(self, scenario: BottleneckRecipe, calls: int, seconds: float | None = None) -> None:
        require_whole(calls=(calls, 2, MAX_CALLS))
        if scenario.calls > 0:
            raise ValueError(f"scenario = {scenario.name} of calls together has {scenario.calls} other calls: allowed are scenarios of one")
        self._of_one, self._seconds = scenario, seconds
        self.name, self.kinds = f"{scenario.name} x {calls}", scenario.kinds
        self._times = {id(trace): _times(trace, calls) for trace in scenario.traces}
        self.traces: Sequence[CapacityTrace] = list(self._times.values())
        self.flows, self.calls = scenario.flows + calls - 1, calls - 1
        self.series: Sequence[Series] = scenario.series
        self.seconds = scenario.seconds

    def draw(self, split: str, seed: int, kind: str | None = None) -> SharedLink:
        """Sample one world, see `BottleneckRecipe.draw`; the calls come before the scenario's own flows."""
        link = self._of_one.draw(split, seed, kind)
        if self._seconds is not None:
            link = link._replace(seconds=self._seconds)
        draws = np.random.Generator(np.random.Philox(key=int(rng.stream_key(np.uint64(link.seed), 5, rng.SCENARIO))))
        ways_ms = np.round(draws.uniform(*FORWARD_MS, self.calls), 3)
        starts_s, early_s = draws.uniform(0.0, min(APART_S, link.seconds / 3.0), (2, self.calls))
        others = tuple(
            OtherCall(
                SAME, audio=link.audio, video=link.video, rates_kbps=link.rates_kbps, forward_ms=way_ms, backward_ms=way_ms,
                starts_s=at_s, stops_s=link.seconds - before_s,
            )
            for way_ms, at_s, before_s in zip(ways_ms.tolist(), starts_s.tolist(), early_s.tolist(), strict=True)
        )  # fmt: skip
        queue_bytes = None if link.queue_bytes is None else link.queue_bytes * (1 + self.calls)
        return link._replace(trace=self._times[id(link.trace)], queue_bytes=queue_bytes, flows=(*others, *link.flows))


def _times(trace: CapacityTrace, factor: int) -> CapacityTrace:
    """Return a trace with `factor` times the capacity."""
    if trace.rates_bps.any():
        return trace._replace(rates_bps=trace.rates_bps * factor)
    times_us = np.repeat(trace.times_us, factor)
    return trace._replace(times_us=times_us, rates_bps=np.broadcast_to(np.int64(0), times_us.shape))
