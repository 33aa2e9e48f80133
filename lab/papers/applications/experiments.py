"""Experiments of the application study (S3) as worlds: shaping, disruption and competition for a call with two parties.

    static       150 s, the last 90 of them counted; the link shaped to a level
    disrupted    300 s; the link drops from 1000 Mbit/s to a level from 60 to 90 s
    competing    180 s; another application is active from 30 to 150 s, which are counted

Up: a sender shares the bottleneck. Down: the traffic that a relay forwards to the receiver, or the sender's if the relay does not adapt.

Our choices, not S3's: the shaper's bucket holds one packet and its queue 300 or 100 ms at the level, at least three packets; 20 ms each
way, twice as much for a sender with end-to-end control; audio of 40 kbit/s. Netflix-like and YouTube-like downloads are parallel
connections of TCP CUBIC, a new one for each segment; their sizes are our choice.
"""

from typing import Literal, NamedTuple

from lab.papers.applications.application import Application
from lab.papers.applications.profile import APPLICATIONS, Viewing, load_profile
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, constant, steps
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink, require_link
from vcgym.network.bottleneck.sources import Audio, Encoder

Setup = Literal["static", "disrupted", "competing"]
Way = Literal["up", "down"]

UNSHAPED_MBPS = 1000.0
SECONDS: dict[str, float] = {"static": 150.0, "disrupted": 300.0, "competing": 180.0}
COUNTED_S: dict[str, tuple[int, int]] = {"static": (60, 150), "disrupted": (45, 60), "competing": (30, 150)}
DROP_S = (60.0, 90.0)
COMPETES_S = (30.0, 150.0)
QUEUES_MS = (300.0, 100.0)
_MIN_QUEUE_BYTES = 4500
_WAY_MS = 20.0
_AUDIO, _VIDEO = Audio(100, 20.0), Encoder(key_every=0)


def _downloads(connections: int, segment_bytes: tuple[int, int], idle_s: float) -> tuple[Tcp, ...]:
    """Return parallel connections that start one second apart."""
    begins_s, ends_s = COMPETES_S
    return tuple(
        Tcp("cubic", 1500, _WAY_MS, _WAY_MS, starts_s=begins_s + i, stops_s=ends_s, file_bytes=segment_bytes, idle_s=idle_s)
        for i in range(connections)
    )


TRAFFIC: dict[str, tuple[Tcp, ...]] = {
    "tcp": (Tcp("cubic", 1500, _WAY_MS, _WAY_MS, starts_s=COMPETES_S[0], stops_s=COMPETES_S[1]),),
    "netflix": _downloads(11, (30_000, 90_000), 5.0),
    "youtube": _downloads(2, (200_000, 400_000), 1.0),
}
"""Competing traffic that is no application. Netflix: S3 counts 11 connections at once, and 27 of more than 100 kbit each in 120 s."""
COMPETITORS = (*APPLICATIONS, *TRAFFIC)


class ExperimentCell(NamedTuple):
    """Experiment with one application at one level.

    Attributes:
        setup: kind of experiment.
        way: shaped direction.
        application: application that is active from the beginning.
        mbps: level of the shaper, or of the drop.
        against: competitor, one of COMPETITORS; "": none.
        viewing: view of the other parties; with `parties` it determines the rate of a sender.
        parties: number of parties in the call.
        queue_ms: size of the shaper's queue at the level, one of QUEUES_MS.
    """

    setup: Setup
    way: Way
    application: str
    mbps: float
    against: str = ""
    viewing: Viewing = "speaker"
    parties: int = 2
    queue_ms: float = QUEUES_MS[0]


def link_of(cell: ExperimentCell) -> SharedLink:
    """Return the world of an experiment, without a seed."""
    _, rates_kbps = rule_of(cell)
    way_ms, seconds = _way_ms(cell), SECONDS[cell.setup]
    queue_bytes = max(_MIN_QUEUE_BYTES, round(cell.queue_ms * cell.mbps * 1000 / 8))
    link = SharedLink(
        f"{cell.setup} {cell.way}", 0, _capacity(cell), queue_packets=8192, queue_bytes=queue_bytes, forward_ms=way_ms, backward_ms=way_ms,
        flows=_flows(cell), audio=_AUDIO, video=_VIDEO, seconds=seconds, rates_kbps=rates_kbps,
    )  # fmt: skip
    require_link(link)
    return link


def _flows(cell: ExperimentCell) -> tuple[Tcp | OtherCall, ...]:
    if cell.against not in APPLICATIONS:
        return TRAFFIC[cell.against] if cell.against else ()
    _, rates_kbps = rule_of(beside_of(cell))
    way_ms = _way_ms(beside_of(cell))
    call = OtherCall(
        SAME, audio=_AUDIO, video=_VIDEO, rates_kbps=rates_kbps, forward_ms=way_ms, backward_ms=way_ms, starts_s=COMPETES_S[0],
        stops_s=COMPETES_S[1],
    )  # fmt: skip
    return (call,)


def beside_of(cell: ExperimentCell) -> ExperimentCell:
    """Return the same experiment with the competitor, if it is an application, as the first application."""
    return cell._replace(application=cell.against) if cell.against in APPLICATIONS else cell


def rule_of(cell: ExperimentCell) -> tuple[Application, tuple[float, float, float]]:
    """Return the rule of the traffic over the bottleneck, and its start, minimum and maximum rate in kbit/s."""
    profile = load_profile(cell.application)
    return profile.up(cell.viewing, cell.parties) if cell.way == "up" else profile.down()


def _way_ms(cell: ExperimentCell) -> float:
    return _WAY_MS if load_profile(cell.application).relay is not None else 2.0 * _WAY_MS


def _capacity(cell: ExperimentCell) -> CapacityTrace:
    if cell.setup != "disrupted":
        return constant(cell.mbps * 1e6)
    course = [(0.0, UNSHAPED_MBPS), (DROP_S[0], cell.mbps), (DROP_S[1], UNSHAPED_MBPS)]
    return steps(cell.setup, course, SECONDS[cell.setup])
