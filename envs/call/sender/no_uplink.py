"""Stages before the paths: their interface, and the null object of a call whose packets leave at once."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import Part
from vcgym.envs.call.paths.routing import NoSender
from vcgym.envs.call.sender.state import SENDER
from vcgym.network.kernels.ranges import one_of


class SenderStages(Protocol):
    """The stages before the paths of a batch of calls: `NoUplink`, or `vcgym.envs.call.sender.uplink.UplinkBatch`.

    Attributes:
        inside: what compiled loops get.
        sets_rate: whether the agent sets the rate.
        orders: number of sending orders that the agent chooses among; 0: it does not.
        part: what it adds to an observation of features, or None.
        arguments: what a state must agree on.
        senders: (sessions,) of SENDER; empty without an uplink.
    """

    inside: Any
    sets_rate: bool
    orders: int
    part: Part | None
    arguments: tuple[Any, ...]
    senders: NDArray[Any]

    def refuse(self, split: str, kind: str | None) -> None:
        """Refuse an unknown split or world type.

        Raises:
            ValueError: naming the value and what is allowed.
        """

    def draw(self, row: int, split: str, seed: int, kind: str | None = None) -> None:
        """Draw the world of the next call of a row; `start` begins it."""

    def start(self, row: int, packets: int, control_us: int, to_sender_us: int, report_loss: float) -> None:
        """Begin a call.

        Args:
            row: the session.
            packets: length of the call.
            control_us: of a report from the receiver to the sender.
            to_sender_us: of a command from the agent's location to the sender.
            report_loss: share of reports that are lost.
        """

    def answer(self, rate: NDArray[np.float64], is_position: bool, order: NDArray[np.int64]) -> None:
        """Hand in what was decided: rates in bit/s, or as positions on the log scale of targets, 0 to 1; orders."""

    def observe(self, calls: NDArray[Any], rows: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        """Write the features of `part` into `out` (sessions, features)."""

    def records(self) -> dict[str, spaces.Space[Any]]:
        """Return the parts that it adds to an observation of records."""
        ...

    def show(self, calls: NDArray[Any], rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        """Write the parts of `records`.

        Raises:
            OverflowError: they do not fit.
        """

    def outcomes(self) -> dict[str, NDArray[Any]]:
        """Return what infos show of finished sessions."""
        ...

    def kind(self, row: int) -> str:
        """Return the kind of the world of a row."""
        ...

    def take_kind(self, row: int, kind: str) -> None:
        """Set the kind of a row, as `kind` returned it."""

    def living(self) -> dict[str, Any]:
        """Return all mutable state."""
        ...


class NoUplink:
    """Absence of stages before the paths: packets leave at once."""

    inside: NamedTuple = NoSender()
    sets_rate = False
    orders = 0
    part: Part | None = None
    arguments: tuple[Any, ...] = ()
    senders: NDArray[Any] = np.zeros(0, SENDER)

    def refuse(self, split: str, kind: str | None) -> None:
        if kind is not None:
            one_of("option of reset", "kind", ("reset_mask", "pair", "stratum"))

    def draw(self, row: int, split: str, seed: int, kind: str | None = None) -> None: ...

    def start(self, row: int, packets: int, control_us: int, to_sender_us: int, report_loss: float) -> None: ...

    def answer(self, rate: NDArray[np.float64], is_position: bool, order: NDArray[np.int64]) -> None: ...

    def observe(self, calls: NDArray[Any], rows: NDArray[np.int64], out: NDArray[np.float32]) -> None: ...

    def records(self) -> dict[str, spaces.Space[Any]]:
        return {}

    def show(self, calls: NDArray[Any], rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None: ...

    def outcomes(self) -> dict[str, NDArray[Any]]:
        return {}

    def kind(self, row: int) -> str:
        return ""

    def take_kind(self, row: int, kind: str) -> None: ...

    def living(self) -> dict[str, Any]:
        return {}


NO_UPLINK = NoUplink()
