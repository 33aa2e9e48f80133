"""The one loop: a call advances slot by slot, and each of its stages plays its part of the slot.

First the stages behind the paths: arrivals and the player's ticks (`paths.receiving`), then decisions and capture (`paths.routing`). Then
the sender plays to the end of the slot, and packets that leave its bottleneck go onto a path. Without paths there are no slots: the sender
plays from one decision to the next. The loop stops when an agent must decide, when the next block of the world is needed, and at the end.

Only this loop is compiled anew for each pair of rules.
"""

from vcgym.envs.call.stages import (
    BLOCK,
    DECIDE,
    RING_FULL,
    RUNNING,
    Roles,
    arrive,
    asks_agent,
    depart,
    end_slot,
    leave,
    look_ahead,
    reads_feed,
)
from vcgym.network.kernels.jit import kernel


@kernel
def play(stages, which):
    """Play each call in `which` until it must stop; `stages.why` gives the reason.

    Returns:
        RING_FULL if a ring of any call is full, else BLOCK if any call waits for the world, else DECIDE.
    """
    why_each, sender, calls, routing, receiving = stages
    agent_sets_playout = asks_agent(receiving)
    agent_decides = asks_agent(routing) or agent_sets_playout or asks_agent(sender)
    roles = Roles(agent_decides, agent_sets_playout, agent_decides or reads_feed(routing) or reads_feed(sender))
    worst = DECIDE
    for turn in range(which.size):
        look_ahead(calls, which, turn)
        s = which[turn]
        why = RUNNING
        while why == RUNNING:
            why = arrive(receiving, calls, sender, s, roles)
            if why == RUNNING:
                why = depart(routing, calls, sender, s, roles)
            if why == RUNNING:
                why = leave(sender, calls, routing, s)
            if why == RUNNING:
                end_slot(calls, s)
        why_each[s] = why
        if why == RING_FULL or (why == BLOCK and worst == DECIDE):
            worst = why
    return worst
