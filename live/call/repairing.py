"""Repair at the receiver of a live call: by earlier frames in the packets that arrive, as in a simulated call, and what it came to.

The loop of the receiver has this stage where a simulated call has the protection of its sender. It knows what a packet carries from the
packet itself. A copy needs no stage: the loop takes it as a copy, and reports it as one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import NONE
from vcgym.envs.call.paths.protecting import Protecting, newest_missing
from vcgym.envs.call.paths.routing import NoSender
from vcgym.envs.call.sender.no_uplink import SenderStages
from vcgym.envs.call.stages import capture, is_draining, leave, next_repaired, pass_on, reveal, sent_onto_path_us
from vcgym.network.kernels.slots import LOST
from vcgym.network.playout.in_flight import PROBE, SLOTS, kind_of, number_of


class Repairing(NamedTuple):
    """Sender stage of a receiver's loop: int64 (SLOTS,), by packet the set of earlier packets whose frames it carries."""

    carried: NDArray[np.int64]


for _stage in (pass_on, reveal, leave, is_draining, capture):
    _stage.register(Repairing)(_stage.versions[NoSender])
sent_onto_path_us.register(Repairing)(sent_onto_path_us.versions[Protecting])


@next_repaired.register(Repairing)
def _next_repaired(sender, call, s, node, so_far):
    number = number_of(call.in_flight, node, call.slot)
    if kind_of(call.in_flight, node) == PROBE or call.slot - number >= SLOTS:
        return np.int64(NONE)
    return newest_missing(call, number, sender.carried[number & (SLOTS - 1)])


class WithRepairs(SenderStages):
    """Stages before the paths of a receiver's loop; `carried` as in `Repairing`."""

    def __init__(self, carried: NDArray[np.int64]) -> None:
        self.inside = Repairing(carried)


class Repaired(NamedTuple):
    """Numbers of packets of a call.

    Attributes:
        lost: packets whose own transmission did not arrive.
        by_copy: those of them that were played because a copy arrived.
        by_frame: those that were played because a later packet carried their frame.
        too_late: those that arrived in one of these ways, but too late to be played.
    """

    lost: int
    by_copy: int
    by_frame: int
    too_late: int


def repaired(own_us: NDArray[np.int64], copy_us: NDArray[np.int64], first_us: NDArray[np.int64], played_us: NDArray[np.int64]) -> Repaired:
    """Return what was lost and repaired in a call; arrays are (packets,), and LOST stands for none.

    Args:
        own_us: arrival of the packet's own transmission.
        copy_us: that of its first copy.
        first_us: the first arrival of either, or of its frame in a later packet.
        played_us: tick at which it was played.
    """
    lost = own_us == LOST
    came, is_played, is_copy = lost & (first_us != LOST), played_us >= 0, first_us == copy_us
    chosen = (lost, came & is_played & is_copy, came & is_played & ~is_copy, came & ~is_played)
    return Repaired(*(int(np.count_nonzero(one)) for one in chosen))
