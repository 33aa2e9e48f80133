"""The controls of a call: one row each. What treats controls alike reads `CONTROLS`; no other module lists them.

A control is set by a rule or by an agent. Its name is the same word everywhere: in systems, arguments of environments, configs, action
logs and reports.
"""

import enum
from types import MappingProxyType
from typing import NamedTuple


class Control(enum.StrEnum):
    """Quantity that a rule sets."""

    PATH = "path"  # of each packet
    PLAYOUT = "playout"  # the watermark's lag behind the newest packet, or the target delay of a count buffer
    RATE = "rate"  # target bitrate
    ORDER = "order"  # packet that leaves the send queue next
    TREES = "trees"  # trees of all sessions of a conference, with their rates
    PROTECTION = "protection"  # what goes along with a packet or after it, in case that one is lost: copies, earlier frames, repair packets


PATHS, BOTTLENECK, CONFERENCE, PROTECTED = "paths", "bottleneck", "conference", "protected"
"""Parts of a simulation that controls belong to."""
SENDER, CENTRAL, RECEIVER = "sender", "central", "receiver"
"""Locations."""


class OneOf(NamedTuple):
    """Decision for one of several.

    Attributes:
        names: the options; empty: the paths of the call.
    """

    names: tuple[str, ...] = ()


class LogScale(NamedTuple):
    """Decision for a quantity on a logarithmic scale.

    Attributes:
        exact_max: largest exact decision, in the unit of the rules' decisions.
        low: lower end of the scale in that unit; 0: an end of the call's own.
        high: upper end.
        relative: decisions of form relative, in that unit, above the newest value; empty: those of form discrete.
    """

    exact_max: int
    low: int = 0
    high: int = 0
    relative: tuple[int, ...] = ()


class ControlRow(NamedTuple):
    """Row of the table.

    Attributes:
        part: part of a simulation whose calls have the control; a system that sets one control of a part sets all its required ones.
        location: where a rule decides; an agent elsewhere sends commands, see `vcgym.baselines.from_agent.in_place_of`.
        decision: decisions of an agent; None: no environment has an agent for it alone.
        ring: record of the commands on their way, in the state of its part; "" if no agent sends any.
        log: column of its decisions in `actions.parquet`; "" if they are not logged.
        required: False if a call of its part may lack the control.
    """

    part: str
    location: str
    decision: OneOf | LogScale | None
    ring: str = ""
    log: str = ""
    required: bool = True


CONTROLS = MappingProxyType(
    {
        Control.PATH: ControlRow(PATHS, CENTRAL, OneOf(), ring="to_sender", log="path"),
        Control.PLAYOUT: ControlRow(
            PATHS,
            RECEIVER,
            # Lag in us, 10 ms to 1 s; exact up to 30 s, well below the capacity of the receiver's queue (41 s). Headrooms: 5 to 160 ms.
            LogScale(30_000_000, 10_000, 1_000_000, relative=tuple(round(5000.0 * 32.0 ** (n / 7)) for n in range(8))),
            ring="to_receiver",
            log="level",
        ),
        Control.RATE: ControlRow(BOTTLENECK, SENDER, LogScale(1_000_000_000), ring="rate"),  # bit/s
        Control.ORDER: ControlRow(BOTTLENECK, SENDER, OneOf(("fifo", "sbpn2", "audio_first")), ring="order"),
        Control.TREES: ControlRow(CONFERENCE, CENTRAL, None),
        Control.PROTECTION: ControlRow(
            PROTECTED,
            SENDER,
            OneOf(("none", "copies", "held_copies", "one_earlier", "three_earlier", "parity")),
            ring="protection",
            required=False,
        ),
    }
)
"""The table, in the order of rules in a system and of columns in an agent's action."""

LOGGED = MappingProxyType({row.log: control for control, row in CONTROLS.items() if row.log})
"""Column of `actions.parquet` -> control."""


def controls_of(part: str) -> tuple[Control, ...]:
    """Return the controls of a part of a simulation."""
    return tuple(control for control, row in CONTROLS.items() if row.part == part)
