"""The world of a conference: its topology, and all events that do not depend on the sources."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.cross_traffic import CrossTraffic
from vcgym.conference.network.network import OverlayNetwork, allocate_network
from vcgym.conference.network.topology import Overlay, Topology, dumbbell, overlay
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

LINK_DOWN, LINK_UP, LEAVES, JOINS = range(4)
EVENT = np.dtype((np.record, [("at_us", "i8"), ("kind", "i8"), ("number", "i8")]))


class Outage(NamedTuple):
    """Interval in which a link carries nothing."""

    tail: str
    head: str
    starts_s: float
    stops_s: float


class Absence(NamedTuple):
    """Interval in which a party neither sends nor receives."""

    party: str
    starts_s: float
    stops_s: float


class ConferenceWorld(NamedTuple):
    """Sampled world."""

    name: str  # name of the kind of world, for tables
    seed: int  # seed of the world's random parts
    topology: Topology  # parties, routers, links
    cross: tuple[CrossTraffic, ...] = ()  # cross traffic
    outages: tuple[Outage, ...] = ()  # outages of links
    absences: tuple[Absence, ...] = ()  # absences of parties
    seconds: float = 60.0  # length of the conference

    def changes_s(self) -> list[float]:
        """Return, in order, 0 and all times in s before the end at which cross traffic, an outage or an absence begins or ends."""
        spans: list[CrossTraffic | Outage | Absence] = [*self.cross, *self.outages, *self.absences]
        return sorted({0.0, *(at_s for span in spans for at_s in (span.starts_s, span.stops_s) if at_s < self.seconds)})

    def down_at(self, now_s: float) -> list[tuple[str, str]]:
        """Return the links that are down."""
        return [outage[:2] for outage in self.outages if outage.starts_s <= now_s < outage.stops_s]

    def overlay_at(self, now_s: float) -> Overlay:
        """Return the overlay at an instant, with capacities reduced by cross traffic, for computing optima."""
        found = overlay(self.topology, self.down_at(now_s))
        ends = [link[:2] for link in self.topology.links]
        for flow in self.cross:
            if flow.starts_s <= now_s < flow.stops_s:
                link = ends.index((flow.tail, flow.head))
                found.capacity_kbps[link] = max(found.capacity_kbps[link] - flow.rate_kbps, 0.0)
        return found


def dumbbell_timeline(seed: int = 0) -> ConferenceWorld:
    """Return Celerity's section 6.1: 80 kbps of cross traffic from 300 to 500 s, and A disconnected from its router from 700 to 1,000 s."""
    cut = (Outage("A", "E", 700.0, 1000.0), Outage("E", "A", 700.0, 1000.0))
    return ConferenceWorld("dumbbell", seed, dumbbell(), (CrossTraffic("E", "F", 80.0, 300.0, 500.0),), cut, seconds=1000.0)


def require_world(world: ConferenceWorld) -> None:
    """Check a world.

    Raises:
        ValueError: an unknown link or party, or a time out of range.
    """
    require_within(world, seconds=(0.1, 86_400.0))
    ends = [link[:2] for link in world.topology.links]
    spans: list[CrossTraffic | Outage] = [*world.cross, *world.outages]
    for one in spans:
        if (one.tail, one.head) not in ends:
            raise ValueError(f"{type(one).__name__} of {one.tail}->{one.head}, not a link of the topology; allowed are its links")
    for absence in world.absences:
        if absence.party not in world.topology.parties:
            raise ValueError(f"Absence of {absence.party!r}, not a party; allowed: {', '.join(world.topology.parties)[:200]}")
    times: list[Outage | Absence] = [*world.outages, *world.absences]
    for span in times:
        require_within(span, starts_s=(0.0, 1e9), stops_s=(span.starts_s, 1e9))


def network_of(world: ConferenceWorld, log: int = 0, recovers: bool = False) -> tuple[OverlayNetwork, NDArray[np.void]]:
    """Return the network of a world, not yet started, and its events in order of time.

    Args:
        world: a world.
        log: number of media arrivals logged.
        recovers: True: with coded local recovery.

    Raises:
        ValueError: the world is invalid.
    """
    require_world(world)
    ends = [link[:2] for link in world.topology.links]
    net = allocate_network(overlay(world.topology), [(ends.index(flow[:2]), flow) for flow in world.cross], log, recovers=recovers)
    found = [(span.starts_s, LINK_DOWN, ends.index(span[:2])) for span in world.outages]
    found += [(span.stops_s, LINK_UP, ends.index(span[:2])) for span in world.outages]
    found += [(span.starts_s, LEAVES, world.topology.parties.index(span.party)) for span in world.absences]
    found += [(span.stops_s, JOINS, world.topology.parties.index(span.party)) for span in world.absences]
    events = [(round(at_s * 1e6), kind, number) for at_s, kind, number in sorted(found)]
    return net, np.array(events, EVENT)


@kernel
def happen(net, events, done, now_us):
    """Apply the events that are due.

    Args:
        net: Network; `down` of links and `present` are updated.
        events: (events,) of EVENT, in order of time.
        done: int64, number of events applied before, 0 to events.
        now_us: int64, current time; events at this instant are due.

    Returns:
        Number of events applied so far, int64.
    """
    while done < events.size and events[done].at_us <= now_us:
        event = events[done]
        if event.kind == LINK_DOWN or event.kind == LINK_UP:
            net.links[event.number].down = event.kind == LINK_DOWN
        else:
            net.present[event.number] = event.kind == JOINS
        done += 1
    return done
