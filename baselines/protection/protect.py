"""Protection: what goes along with a packet, or after it, in case a packet is lost. A rule at the sender decides for each packet.

A rule learns from the records that have come back to the sender, in order of arrival, and has one method in place of `decide`:

    protect(self, ..., now_us, path) -> Protection

A rule whose codec itself repairs, as Opus does, has one more:

    in_band(self, ..., now_us) -> InBand

A set of packets is a number whose bit d stands for the packet d before this one: bit 0 is this packet, bits 1 and 2 the two before.
"""

from typing import Any, NamedTuple

from vcgym.baselines.declared import add_methods
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

NONE = -1
DISTANCES = 62  # a bit for each distance up to this one
SETS = 0, (1 << (DISTANCES + 1)) - 1  # range of a set


class Protection(NamedTuple):
    """Decision for one packet. What the budget of the call does not allow is left out.

    Attributes:
        earlier: set of the packets whose frames go along in this one (RFC 2198); bit 0 is ignored.
        again: set of the packets that go again, in packets of their own: bit 0 a copy of this one (RFC 7198), others a later copy or a
            retransmission (RFC 4588).
        path: path of these; NONE: none goes.
        second: further path of the same; NONE: none.
        covers: packets that one repair packet covers, k, which goes with this one on its path; 0: none goes. If r repair packets of a set
            go, any k of the k + r packets give all (an MDS code).
        behind: packets from the last of these to this one. At 0 both share a slot, and so the fate that the world has for it.
    """

    earlier: int
    again: int
    path: int
    second: int
    covers: int
    behind: int


UNPROTECTED = Protection(0, 0, NONE, NONE, 0, 0)


@kernel
def protection(earlier=0, again=0, path=NONE, second=NONE, covers=0, behind=0):
    """Return a `Protection` with what is given alone: the constructor takes no defaults in compiled code.

    Args:
        earlier: int64, as the other arguments a field of `Protection`.
        again: int64.
        path: int64.
        second: int64.
        covers: int64.
        behind: int64.
    """
    return Protection(earlier, again, path, second, covers, behind)


class InBand(NamedTuple):
    """Addition of the codec to one packet: coarse frames of earlier ones, played if nothing better has come.

    Attributes:
        frames: set of the packets whose coarse frames go along; bit 0 is ignored.
        size: bytes that these add to the packet, at least 0. If the budget does not allow them none goes.
    """

    frames: int
    size: int


@generic()
def in_band(params: Any, state: Any, s: int, now_us: int) -> Any:
    """Return what the codec adds to the packet that leaves now, an InBand; nothing for most rules.

    Args:
        params: parameters of the rule.
        state: state; row `s` may be updated.
        s: int64, row.
        now_us: int64, time at which the packet leaves.
    """
    return InBand(0, 0)


@generic(abstract=True)
def protect(params: Any, state: Any, s: int, now_us: int, path: int) -> Any:
    """Decide how the packet that leaves now is protected.

    Args:
        params: parameters of the rule.
        state: state; row `s` may be updated.
        s: int64, row.
        now_us: int64, time at which the packet leaves; must not decrease from call to call.
        path: int64, path of the packet.

    Returns:
        Protection, all int64.
    """


add_methods(protect, in_band)
