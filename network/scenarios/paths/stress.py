"""Scenario stress: deliberate faults on the places, links and pairs of scenario wonderproxy; mode correlated.

Everything here is declared. Links are in an ordinary hour; "the hop" is a random link of the path with the smallest base delay.

    route-flap       the hop's delay jumps up by 20-80 ms and back every 2-8 s
    congestion       in one direction: the hop's delay rises by 20-60 ms per s for 5 s, stays for 5 s and falls at the same rate
    delay-step       from a random time on the hop's delay is 30 s longer
    outages          one in every 5 s, for 0.2-1.5 s, on the hop or on the receiver's access; half lose packets, half hold and release them
    relay-failure    from a random time on all links of the best relay lose everything
    clock-skew       the receiver's clock is off by 50-200 ppm, fast or slow
    day-night        over the call each link's base delay drifts to 0.9 to 1.3 times its initial value

Sampled only by name: `mild-delay-step` (from a random time on the hop's delay is 50-500 ms longer, log-uniform) and a control,
`one-second-bursts` (the hop's delay is 40-150 ms longer for 1 s, then normal for 2 s on average, exponential). Such a burst ends before
feedback about it can be used, so systems that do not react to it must tie.
"""

from typing import Any

import numpy as np

from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.paths.linked import ALWAYS, WonderProxy
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.world import World

STRESS = ("route-flap", "congestion", "delay-step", "outages", "relay-failure", "clock-skew", "day-night")
ONE_SECOND_BURSTS = "one-second-bursts"
MILD_STEP = "mild-delay-step"
MILD_STRESS = tuple(MILD_STEP if stratum == "delay-step" else stratum for stratum in STRESS)
STEP_MS = 30_000.0
MILD_STEPS_MS = (50.0, 500.0)
_PER_S = 1_000_000 // SLOT_US  # slots
_OUTAGE_EVERY = 5 * _PER_S


class Stress(WonderProxy):
    """Recipe with a stratum for each kind of fault; all have equal weights."""

    modes = ("correlated",)

    def __init__(self, settings: WorldSettings) -> None:
        super().__init__(settings)
        self.strata, self.by_name = dict.fromkeys(STRESS, 1.0 / len(STRESS)), (MILD_STEP, ONE_SECOND_BURSTS)

    def world(self, sessions: int) -> World:
        packets = self.settings.packets
        max_events = max(len(self.hops), packets // _OUTAGE_EVERY + 1, packets // _PER_S + 1)
        return LinkWorld(Correlated(), sessions, self.layout.path_links, events=max_events)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        _, fixed = self.ordinary(pair)
        never = np.zeros(len(fixed["base_ms"]), np.int64)
        hops, relay = self.nearest(fixed["base_ms"])
        hop = int(draws.choice(hops))
        border = int(self.settings.packets * draws.uniform(0.2, 0.6))
        drawn: dict[str, Any] = {"events": ()}
        if stratum == "route-flap":
            drawn["events"] = self._flaps(hop, draws)
        elif stratum == ONE_SECOND_BURSTS:
            drawn["events"] = self._short_bursts(hop, draws)
        elif stratum == "congestion":
            drawn["events"] = _ramp(hop, border, draws)
        elif stratum == "delay-step":
            drawn["events"] = (Event(hop, border, ALWAYS, add_ms=STEP_MS),)
        elif stratum == MILD_STEP:
            drawn["events"] = (Event(hop, border, ALWAYS, add_ms=float(np.exp(draws.uniform(*np.log(MILD_STEPS_MS))))),)
        elif stratum == "outages":
            drawn["events"] = self._outages(hop if draws.random() < 0.5 else len(self.hops), draws)
        elif stratum == "relay-failure":
            drawn["events"] = tuple(Event(n, border, ALWAYS, loss=1.0) for n, ends in enumerate(self.hops) if relay in ends)
        elif stratum == "clock-skew":
            drawn["skew_ppm"] = draws.uniform(50.0, 200.0) * draws.choice([-1.0, 1.0])
        else:
            drawn["events"] = self._drift(fixed["base_ms"], draws)
        return {**fixed, "bad_from": never, "bad_to": never, **drawn}

    def _flaps(self, hop: int, draws: np.random.Generator) -> tuple[Event, ...]:
        add_ms, events, slot, is_up = draws.uniform(20.0, 80.0), [], 0, False
        while slot < self.settings.packets:
            until = slot + int(draws.uniform(2.0, 8.0) * _PER_S)
            if is_up:
                events.append(Event(hop, slot, until, add_ms=add_ms))
            slot, is_up = until, not is_up
        return tuple(events)

    def _short_bursts(self, hop: int, draws: np.random.Generator) -> tuple[Event, ...]:
        events, slot = [], 0
        while (slot := slot + int(draws.exponential(2.0) * _PER_S)) < self.settings.packets:
            events.append(Event(hop, slot, slot + _PER_S, add_ms=draws.uniform(40.0, 150.0)))
            slot += _PER_S
        return tuple(events)

    def _outages(self, link: int, draws: np.random.Generator) -> tuple[Event, ...]:
        events = []
        for first in range(0, self.settings.packets, _OUTAGE_EVERY):
            length = int(draws.uniform(0.2, 1.5) * _PER_S)
            begin = first + int(draws.integers(_OUTAGE_EVERY - length))
            holds = bool(draws.random() < 0.5)
            events.append(Event(link, begin, begin + length, loss=0.0 if holds else 1.0, hold=holds))
        return tuple(events)

    def _drift(self, base_ms: Any, draws: np.random.Generator) -> tuple[Event, ...]:
        seconds = self.settings.packets / _PER_S
        to_ms = base_ms[: len(self.hops)] * draws.uniform(-0.1, 0.3, len(self.hops))
        return tuple(Event(n, 0, self.settings.packets, slope_ms_per_s=add_ms / seconds) for n, add_ms in enumerate(to_ms.tolist()))


def _ramp(hop: int, begin: int, draws: np.random.Generator) -> tuple[Event, ...]:
    slope, five_s = draws.uniform(20.0, 60.0), 5 * _PER_S
    up, stay, down = (begin + n * five_s for n in range(3))
    return (
        Event(hop, up, stay, slope_ms_per_s=slope),
        Event(hop, stay, down, add_ms=5.0 * slope),
        Event(hop, down, down + five_s, add_ms=5.0 * slope, slope_ms_per_s=-slope),
    )
