"""The one loop: a call goes from slot to slot, and each stage that is there plays its part of the slot.

First what is behind the paths: arrivals, the player's ticks, decisions (vcgym.envs.call.paths); then the sender, up to the end of the slot,
and what comes out of its bottleneck goes onto a path. Without paths there are no slots: the sender plays from one decision to the next.
The loop stops where an agent must decide, where the next block of the world is needed, and at the end.
"""

from vcgym.envs.call.stages import BLOCK, DECIDE, GOES_ON, RING_FULL, end_slot, leave, look_ahead, receive
from vcgym.network.kernels.jit import kernel


@kernel
def play(stages, which):
    """Play each call of `which` until it has to stop; `stages.why` says for what.

    Args:
        stages: of class Stages.
        which: int64, the sessions to play, each once.

    Returns:
        RING_FULL if a ring of any call is full, else BLOCK if any call waits for the world, else DECIDE.
    """
    worst = DECIDE
    for turn in range(which.size):
        look_ahead(stages.paths, which, turn)
        s = which[turn]
        why = _play(stages.sender, stages.paths, s)
        stages.why[s] = why
        if why == RING_FULL or (why == BLOCK and worst == DECIDE):
            worst = why
    return worst


@kernel
def _play(sender, paths, s):
    """Play a call until it has to stop; return why."""
    while True:
        why = receive(paths, sender, s)
        if why == GOES_ON:
            why = leave(sender, paths, s)
        if why != GOES_ON:
            return why
        end_slot(paths, s)
