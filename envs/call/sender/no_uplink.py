"""The stages before the paths, for calls whose packets leave at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import Control
from vcgym.envs.call.features.layout import ObservationPart
from vcgym.envs.call.paths.routing import NoSender
from vcgym.envs.call.sender.state import SenderState
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.record import records

BY_PACKET = 0.0  # opportunities spaced by the mean packet size at the target: CCID 3


class SenderStages:
    """The stages before the paths of a batch of calls; as it stands none: packets leave at once.

    `vcgym.envs.call.sender.uplink.UplinkBatch` has a bottleneck.

    Attributes:
        inside: the stage for compiled loops.
        controls: controls of the agent.
        part: part added to an observation of features, or None.
        arguments: arguments that a saved state must match.
        senders: (sessions,) of SenderState; empty without an uplink.
    """

    inside: Any = NoSender()
    controls: tuple[Control, ...] = ()
    part: ObservationPart | None = None
    arguments: tuple[Any, ...] = ()
    senders: NDArray[Any] = records(SenderState, 0)

    def refuse(self, split: str, kind: str | None) -> None:
        """Check the split and the kind of world.

        Raises:
            ValueError: one is unknown; the message names the value and the allowed values.
        """
        if kind is not None:
            one_of("option of reset", "kind", ("reset_mask", "pair", "stratum"))

    def draw(self, row: int, split: str, seed: int, kind: str | None = None) -> None:
        """Sample the world of a row's next call, which `start` starts."""

    def start(self, row: int, packets: int, control_us: int, to_sender_us: int, report_loss: float) -> None:
        """Start a call.

        Args:
            row: the session.
            packets: length of the call.
            control_us: delay of a report from the receiver to the sender.
            to_sender_us: delay of a command from the agent's location to the sender.
            report_loss: share of lost reports.
        """

    def answer(self, decided: Mapping[Control, NDArray[Any]], is_position: bool) -> None:
        """Pass decisions on: rates in bit/s, or as positions on the log scale of targets, 0 to 1; and indices of schedulers."""

    def observe(self, calls: NDArray[Any], rows: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        """Write the features of `part` into `out` (sessions, features)."""

    def outcomes(self) -> dict[str, NDArray[Any]]:
        """Return the entries of infos for finished sessions."""
        return {}

    def kind(self, row: int) -> str:
        """Return the kind of a row's world."""
        return ""


NO_UPLINK = SenderStages()
