"""Best path sequences in hindsight, routing only: minimum sum of one-way delay and priced expected loss with at most k path changes.

A packet costs its delay plus one second (`vcgym.network.playout.quality.LOSS_PRICE`) times its loss probability; a packet that certainly
never arrives costs one second. Without changes the result is the best fixed path. The clairvoyant knows every loss: for each packet it
takes the path with the earliest arrival. It minimises delay, not R; it is shown but never an anchor.
"""

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.seen import Seen
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.slots import LOST
from vcgym.network.playout.quality import LOSS_PRICE

LOSS_US = LOSS_PRICE * 100_000.0


def costs(seen: Seen) -> NDArray[np.float64]:
    """Return the cost (paths, packets) of each packet in us."""
    arrives = 1.0 - seen.chance
    return np.where(seen.delay_us == LOST, 0.0, seen.delay_us) * arrives + LOSS_US * seen.chance


def best_sequence(cost: NDArray[np.float64], changes: int | None) -> NDArray[np.int16]:
    """Return the path of each packet (packets,) with minimum total `cost` (paths, packets) and at most `changes` changes (None: any)."""
    if changes is None:
        return np.argmin(cost, axis=0).astype(np.int16)
    if changes < 0:
        raise ValueError(f"changes = {changes}: allowed is 0 or more, or None")
    return _best_sequence(cost, changes)


def clairvoyant(delay_us: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return the path (packets,) with the earliest arrival of each packet; if it arrives on none, the previous packet's path."""
    path = np.argmin(np.where(delay_us == LOST, np.iinfo(np.int32).max, delay_us), axis=0)
    arrives = (delay_us != LOST).any(axis=0)
    last = np.maximum.accumulate(np.where(arrives, np.arange(len(path)), 0))
    return path[last].astype(np.int16)


@allocating_kernel
def _best_sequence(cost, changes):
    paths, packets = cost.shape
    best = np.empty((changes + 1, paths))  # minimum cost up to this packet with at most k changes, ending on path p
    changed = np.zeros((packets, changes + 1, paths), np.bool_)
    source = np.zeros((packets, changes + 1), np.int16)  # previous path of a change at this packet
    best[:, :] = cost[:, 0]
    for i in range(1, packets):
        for k in range(changes, -1, -1):
            if k > 0:
                source[i, k] = np.argmin(best[k - 1])
            for p in range(paths):
                if k > 0 and best[k - 1, source[i, k]] < best[k, p]:
                    best[k, p] = best[k - 1, source[i, k]]
                    changed[i, k, p] = True
                best[k, p] += cost[p, i]
    path = np.empty(packets, np.int16)
    k, p = changes, int(np.argmin(best[changes]))
    for i in range(packets - 1, -1, -1):
        path[i] = p
        if changed[i, k, p]:
            p = int(source[i, k])
            k -= 1
    return path
