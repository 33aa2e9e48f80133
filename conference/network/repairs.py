"""Coded local recovery: coded packets on unused link rates repair single losses at the end of an overlay link (Celerity, section 5).

After a packet of a session the tail of an overlay link may send a coded one: the sum of the last WIDTH packets of the session on this link.
A party that has all of them but one takes the missing one from it, and forwards it as if it had arrived. Links are first in, first out, so
what is missing then is lost. The paper does not print the code, its width or how its packets are named: ours is the plainest, WIDTH packets
of 48 ms each at 240 kbps fit into the delay bound, and each is named in 4 bytes of the header.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel

WIDTH = 4  # packets in a coded one
NAMES_BYTES = 4 * WIDTH  # of a coded packet, beyond the header of all packets
_KNOWN = 4096  # packets of a session that a party remembers
_UNDER_WAY = 1 << 15  # coded packets whose content is kept

COVERED = np.dtype((np.record, [("number", "i8"), ("created_us", "i8"), ("plan", "i8"), ("tree", "i8")]))


class Repairs(NamedTuple):
    """State of coded local recovery of P parties; all arrays are empty without it."""

    share: NDArray[np.float64]  # (P, PLANS, P, P), coded packets per packet, 0 to 1, by session, plan modulo PLANS, tail and head
    credit: NDArray[np.float64]  # (P, P, P), coded packets due, by session, tail and head
    passed: NDArray[np.int64]  # (P, P, P), packets of the session sent on the overlay link
    recent: NDArray  # (P, P, P, WIDTH) of COVERED, the last of them
    has: NDArray[np.int64]  # (P, P, _KNOWN), by session, party and number modulo _KNOWN, the number plus 1 of a packet that the party has
    content: NDArray  # (_UNDER_WAY, WIDTH) of COVERED, content of coded packets
    counts: NDArray[np.int64]  # (2,), coded packets sent, and packets repaired


def allocate_repairs(parties: int, plans: int) -> Repairs:
    """Return the state for `parties` parties; 0: without recovery."""
    cube = (parties,) * 3
    return Repairs(
        np.zeros((parties, plans, parties, parties)), np.zeros(cube), np.zeros(cube, np.int64), np.zeros((*cube, WIDTH), COVERED),
        np.zeros((parties, parties, _KNOWN), np.int64), np.zeros((_UNDER_WAY if parties else 0, WIDTH), COVERED), np.zeros(2, np.int64),
    )  # fmt: skip


@kernel
def start_repairs(repairs):
    """Forget all packets."""
    repairs.share[:] = repairs.credit[:] = 0.0
    repairs.passed[:] = repairs.has[:] = repairs.counts[:] = 0


@kernel
def cover(repairs, packet, slot):
    """Take note of a packet sent on its overlay link; return the number of the coded packet due behind it, or -1. `slot`: of its plan."""
    m, tail, head = packet.session, packet.tail, packet.head
    last = repairs.recent[m, tail, head, repairs.passed[m, tail, head] % WIDTH]
    last.number, last.created_us, last.plan, last.tree = packet.number, packet.created_us, packet.plan, packet.tree
    repairs.passed[m, tail, head] += 1
    repairs.credit[m, tail, head] = min(repairs.credit[m, tail, head] + repairs.share[m, slot, tail, head], WIDTH)
    if repairs.credit[m, tail, head] < 1.0 or repairs.passed[m, tail, head] < WIDTH:
        return np.int64(-1)
    repairs.credit[m, tail, head] -= 1.0
    number = repairs.counts[0]
    repairs.counts[0] += 1
    for i in range(WIDTH):
        repairs.content[number % _UNDER_WAY, i] = repairs.recent[m, tail, head, i]
    return number


@kernel
def keep(repairs, m, party, number):
    """Note that a party has a packet now.

    Args:
        repairs: Repairs; `has` is updated.
        m: int64, session, 0 to P - 1.
        party: int64, party, 0 to P - 1.
        number: int64, packet number in the session, at least 0.
    """
    repairs.has[m, party, number % _KNOWN] = number + 1


@kernel
def repair(repairs, packet):
    """Turn a coded packet into the one packet that its receiver lacks; return False if it lacks none or several."""
    content, missing = repairs.content[packet.number % _UNDER_WAY], -1
    for i in range(WIDTH):
        if repairs.has[packet.session, packet.head, content[i].number % _KNOWN] != content[i].number + 1:
            if missing >= 0:
                return False
            missing = i
    if missing < 0:
        return False
    found = content[missing]
    packet.number, packet.created_us, packet.plan, packet.tree = found.number, found.created_us, found.plan, found.tree
    repairs.counts[1] += 1
    return True
