"""Estimate of the clocked player's playout delay (`vcgym.network.playout.player`), for a receiver that sets its target.

The player moves its delay toward the target by at most one unit per operation, 10 ms in 100 ms. It waits for the newest packet if that
packet arrives later, and jumps to the target if it is a second above it. A lag that follows the falling delay never discards a packet,
overtaken at a path change, that the player could still play. Left out: the grid of ticks, up to 10 ms.
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.player import JUMP_US, OPERATION_US, UNIT_US

PACE = UNIT_US / OPERATION_US  # ms of delay per ms
JUMP_MS = JUMP_US / 1000.0


@kernel
def followed_ms(playout_ms, target_ms, passed_ms, delay_ms, overtaken):
    """Return the playout delay at an arrival.

    Args:
        playout_ms: playout delay at the previous arrival, >= 0.
        target_ms: target in force since then.
        passed_ms: time since then.
        delay_ms: one-way delay of the arriving packet.
        overtaken: True if a newer packet arrived earlier; the player does not wait for this one.
    """
    pace_ms = PACE * passed_ms
    playout_ms = playout_ms + min(max(target_ms - playout_ms, -pace_ms), pace_ms)
    if not overtaken:
        playout_ms = max(playout_ms, delay_ms)
    if playout_ms > target_ms + JUMP_MS:
        playout_ms = max(target_ms, delay_ms)
    return playout_ms
