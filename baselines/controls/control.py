"""The controls of a call: one row each. What treats controls alike reads `CONTROLS`; no other module lists them.

A control is set by a rule or by an agent. Its name is the same word everywhere: in systems, arguments of environments, configs, action
logs and reports. A package may add a stage with controls of its own (`StagePlugin`).
"""

import enum
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from vcgym.network.kernels.plugins import load_plugins


class Control(enum.StrEnum):
    """Quantity that a rule sets; a control of an added stage is a plain string."""

    PATH = "path"  # of each packet
    PLAYOUT = "playout"  # the watermark's lag behind the newest packet, or the target delay of a count buffer
    RATE = "rate"  # target bitrate
    ORDER = "order"  # packet that leaves the send queue next
    PROTECTION = "protection"  # what goes along with a packet or after it, in case that one is lost: copies, earlier frames, repair packets


PATHS, BOTTLENECK, PROTECTED = "paths", "bottleneck", "protected"
"""Parts of a simulation that controls belong to; an added stage is one too."""
SENDER, CENTRAL, RECEIVER = "sender", "central", "receiver"
"""Locations."""
PACING = 2.5
"""Pacing factor of libwebrtc: the rate of transmission opportunities relative to the target bitrate."""


class OneOf(NamedTuple):
    """Decision for one of several."""

    names: tuple[str, ...] = ()  # the options; empty: the paths of the call


class LogScale(NamedTuple):
    """Decision for a quantity on a logarithmic scale."""

    exact_max: int  # largest exact decision, in the unit of the rules' decisions
    low: int = 0  # lower end of the scale in that unit; 0: an end of the call's own
    high: int = 0  # upper end
    relative: tuple[int, ...] = ()  # decisions of form relative, in that unit, above the newest value; empty: those of form discrete


class ControlRow(NamedTuple):
    """Row of the table.

    Attributes:
        part: part of a simulation whose calls have the control; a system that sets one control of a part sets all its required ones.
        location: where a rule decides; an agent elsewhere sends commands, see `vcgym.baselines.from_agent.in_place_of`.
        stream: number of its rules' stream of draws; no two controls that a system may have share one.
        decision: decisions of an agent; None: no environment has an agent for it alone.
        ring: record of the commands on their way, in the state of its part; "" if no agent sends any.
        log: column of its decisions in `actions.parquet`; "" if they are not logged.
        required: False if a call of its part may lack the control.
    """

    part: str
    location: str
    stream: int
    decision: OneOf | LogScale | None
    ring: str = ""
    log: str = ""
    required: bool = True


class StagePlugin(NamedTuple):
    """Stage that a package adds to the gym: an entry point of the group `STAGES`, whose name is that of the stage.

    It is data alone, so that it is loaded fast: what it names as MODULE:NAME is imported where a board needs it.

    Attributes:
        controls: rows of its controls by name; their part is the name of the stage.
        package: package with its rules in the package `rules`, its systems and suites in `systems.yaml` and `suites.yaml`, in the forms of
            conf/, and its learned systems in the folder `learned`, in the form of data/zoo.
        kind: kind of its calls (`vcgym.leaderboard.evaluation.kinds.kind.Kind`).
        strata: stratum -> its words.
        pictures: pictures of its systems over time (`vcgym.leaderboard.report.series.Picture`), in a tuple.
    """

    controls: Mapping[str, ControlRow]
    package: str
    kind: str
    strata: str
    pictures: str

    def file(self, name: str) -> Traversable:
        """Return a file or folder of the package."""
        return files(self.package).joinpath(name)


STAGES = "vcgym.stages"


def added_stages() -> tuple[StagePlugin, ...]:
    """Return the stages that installed packages add, by name."""
    return load_plugins(STAGES)


class _Controls(Mapping[str, ControlRow]):
    """Rows of the gym and then of the added stages, which are loaded only where the former do not suffice."""

    def __init__(self, own: Mapping[str, ControlRow]) -> None:
        self._own = own

    def __getitem__(self, name: str) -> ControlRow:
        return self._own[name] if name in self._own else self._added()[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._added()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _added(self) -> dict[str, ControlRow]:
        return {name: row for stage in added_stages() for name, row in stage.controls.items()}


CONTROLS = _Controls(
    {
        Control.PATH: ControlRow(PATHS, CENTRAL, 0, OneOf(), ring="to_sender", log="path"),
        Control.PLAYOUT: ControlRow(
            PATHS,
            RECEIVER,
            1,
            # Lag in us, 10 ms to 1 s; exact up to 30 s, well below the capacity of the receiver's queue (41 s). Headrooms: 5 to 160 ms.
            LogScale(30_000_000, 10_000, 1_000_000, relative=tuple(round(5000.0 * 32.0 ** (n / 7)) for n in range(8))),
            ring="to_receiver",
            log="level",
        ),
        Control.RATE: ControlRow(BOTTLENECK, SENDER, 2, LogScale(1_000_000_000), ring="rate"),  # bit/s
        Control.ORDER: ControlRow(BOTTLENECK, SENDER, 3, OneOf(("fifo", "sbpn2", "audio_first")), ring="order"),
        Control.PROTECTION: ControlRow(
            PROTECTED,
            SENDER,
            5,
            OneOf(("none", "copies", "held_copies", "one_earlier", "three_earlier", "parity")),
            ring="protection",
            required=False,
        ),
    }
)
"""The table, in the order of rules in a system and of columns in an agent's action."""

LOGGED = {CONTROLS[control].log: control for control in Control if CONTROLS[control].log}
"""Column of `actions.parquet` -> control."""


def controls_of(part: str) -> tuple[Control, ...]:
    """Return the controls of a part of the gym's own simulations."""
    return tuple(control for control in Control if CONTROLS[control].part == part)
