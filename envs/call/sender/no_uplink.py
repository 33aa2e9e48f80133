"""No uplink: what a call asks of one, and the answers of a call whose packets leave at once."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import Part
from vcgym.envs.call.routing import NoSender
from vcgym.envs.call.sender.events import SENDER
from vcgym.network.kernels.ranges import one_of


class NoUplink:
    """The sender of a call without an uplink, and the interface of one with it (vcgym.envs.call.sender.uplink).

    Attributes:
        inside: what compiled loops get.
        rate_held: whether the agent holds the rate.
        orders_held: among how many orders of sending the agent chooses; 0: it does not.
        part: what it adds to an observation of features, or None.
        arguments: what a state must agree on.
        senders: (sessions,) of SENDER; empty without an uplink.
    """

    inside: NamedTuple = NoSender()
    rate_held = False
    orders_held = 0
    part: Part | None = None
    arguments: tuple[Any, ...] = ()
    senders: NDArray[Any] = np.zeros(0, SENDER)

    def refuse(self, split: str, kind: str | None) -> None:
        """Refuse a split or a kind of world that there is not.

        Raises:
            ValueError: naming the value and what is allowed.
        """
        if kind is not None:
            one_of("option of reset", "kind", ("reset_mask", "pair", "stratum"))

    def draw(self, row: int, split: str, seed: int, kind: str | None = None) -> None:
        """Draw the world of the next call of a row; `start` begins it."""

    def start(self, row: int, packets: int, control_us: int, to_sender_us: int, report_loss: float) -> None:
        """Begin a call.

        Args:
            row: the session.
            packets: length of the call.
            control_us: of a report from the receiver to the sender.
            to_sender_us: of a command from the agent's place to the sender.
            report_loss: share of reports that are lost.
        """

    def answer(self, rate: NDArray[np.float64], is_place: bool, order: NDArray[np.int64]) -> None:
        """Hand in what was decided: rates in bit/s, or as places on the log scale of targets, 0 to 1; orders."""

    def observe(self, calls: NDArray[Any], rows: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        """Write the features of `part` into `out` (sessions, features)."""

    def records(self) -> dict[str, spaces.Space[Any]]:
        """Return the parts that it adds to an observation of records."""
        return {}

    def show(self, calls: NDArray[Any], rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        """Write the parts of `records`.

        Raises:
            OverflowError: they do not fit.
        """

    def outcomes(self) -> dict[str, NDArray[Any]]:
        """Return what infos show of finished sessions."""
        return {}

    def kind(self, row: int) -> str:
        """Return the kind of the world of a row."""
        return ""

    def take_kind(self, row: int, kind: str) -> None:
        """Set the kind of a row, as `kind` returned it."""

    def living(self) -> dict[str, Any]:
        """Return all mutable state."""
        return {}


NO_UPLINK = NoUplink()
