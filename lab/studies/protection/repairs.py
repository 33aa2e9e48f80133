"""A bound on what protection repairs within a budget of bytes, path and playout of the call as they were played without it.

In each concealed tick a packet was due: in a gap the missing packets in order; where nothing was left to play, the packets that would have
been next, one each tick. A tick is repairable if its packet, sent once more in its own or a later slot on any path, would have arrived by
the tick: as a copy, a retransmission, an earlier frame or a repair packet. No whole frame takes fewer bytes than a further earlier frame,
and a token bucket never gives more than the budget's share of the whole call. So within a budget no protection repairs more ticks than

    min(repairable ticks, floor(budget in bytes / bytes of a further earlier frame))

Coarse frames of a codec may be smaller; for them only the first term holds. This is a bound on repaired ticks, not on R: a receiver that
learns may change its lag with what protection lets it see, and a packet that comes in time may spare the player delay too. `most_rating`
is the bound on R, without a budget.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.rating import best_ratings
from lab.studies.oracles.seen import Seen
from vcgym.envs.call.batch import Played
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.packet_size import PLAIN, earlier_bytes
from vcgym.network.playout.player import UNIT_US

CHEAPEST_REPAIR = int(earlier_bytes(1))
_NEVER_US = 1 << 62


class Due(NamedTuple):
    """The packet that was due in each concealed tick of a call; arrays (ticks,).

    Attributes:
        packet: int64, 0 to packets - 1.
        tick_us: int64, the tick.
    """

    packet: NDArray[np.int64]
    tick_us: NDArray[np.int64]


def due(played: Played, s: int) -> Due:
    """Return what was due in the concealed ticks of call `s`, which is without protection; nothing in a call without sound."""
    arrived_us, played_us = played.arrived_us[s], played.played_us[s]
    last, units = len(played_us), np.flatnonzero(played_us >= 0)
    if not units.size:
        return Due(np.zeros(0, np.int64), np.zeros(0, np.int64))
    # From each played unit to the next one, and from the last one to the end of the stream.
    following, at_us = np.append(units[1:], last), played_us[units]
    next_us = np.append(at_us[1:], at_us[-1] + (last - units[-1]) * UNIT_US)
    ticks = (next_us - at_us) // UNIT_US - 1
    # With more ticks than missing units, the last one is no concealment if the next unit was there: the player slowed down.
    came_us = np.append(arrived_us[units[1:]], _NEVER_US)
    ticks -= (ticks > following - units - 1) & (came_us <= next_us - UNIT_US)
    ticks = np.maximum(ticks, 0)  # two units of a fast tick
    step = 1 + np.arange(ticks.sum()) - np.repeat(np.cumsum(ticks) - ticks, ticks)
    return Due(np.repeat(units, ticks) + step, np.repeat(at_us, ticks) + step * UNIT_US)


def first_possible_us(delay_us: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the earliest arrival (packets,) of each packet, sent in its own slot and in every later one on every path.

    Args:
        delay_us: (paths, packets), LOST where a packet of that slot never arrives.
    """
    slots_us = SLOT_US * np.arange(delay_us.shape[1])
    arrives_us = np.where(delay_us == LOST, _NEVER_US, delay_us + slots_us).min(axis=0)
    return np.asarray(np.minimum.accumulate(arrives_us[::-1])[::-1], np.int64)


def most_repairs(wanted: Due, delay_us: NDArray[np.int32], budget: float) -> int:
    """Return the bound on repaired ticks within a budget, share of the plain bytes."""
    packets = delay_us.shape[1]
    repairable = int((first_possible_us(delay_us)[wanted.packet] <= wanted.tick_us).sum())
    return min(repairable, int(budget * packets * PLAIN) // CHEAPEST_REPAIR)


def repairs(wanted: Due, protected: Played, s: int) -> int:
    """Return how many ticks the protection of call `s`, on the same paths, would have repaired."""
    arrived_us = protected.arrived_us[s, wanted.packet]
    return int(((arrived_us >= 0) & (arrived_us <= wanted.tick_us)).sum())


def most_rating(delay_us: NDArray[np.int32], history: NDArray[np.float64]) -> float:
    """Return a bound on R whatever router, lag and protection do: all packets on all paths from their slot on, with the best playout.

    Args:
        delay_us: (paths, packets), LOST where a packet of that slot never arrives.
        history: (paths, 3) n, mean ms, sd ms before the call.
    """
    first_us = first_possible_us(delay_us)
    waits_us = np.where(first_us == _NEVER_US, LOST, first_us - SLOT_US * np.arange(len(first_us))).astype(np.int32)[None]
    return best_ratings(Seen(waits_us, (waits_us == LOST).astype(np.float64), history[:1]), (0,))[0].bound
