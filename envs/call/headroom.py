"""Stand-ins for an agent that says how far above the newest delay packets are played: the headroom.

A lag stands above the smallest delay of the last 2 s, which the agent may not know; a headroom stands above what arrives. At each arrival

    target = delay of the newest packet + headroom in force
    P      = P drawn toward the target of before, by 10 ms at most in 100 ms; the newest delay if that is larger
    lag    = max(target, P) - smallest delay of the last 2 s

P follows the playout delay of the clocked player (`vcgym.network.playout.player`), as in `vcgym.agents.controllers.learned_lag`: the lag
follows it down, and so the watermark discards no packet that the player could still play. The conversion takes place at the receiver, so a
command that is under way stays right when the delay changes meanwhile.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.receivers.jitter_window import JITTER_WINDOW, accumulated_jitter, reset_window
from vcgym.baselines.rule import INSIDE, Control, Decided, allocate, decide, decided, init, rule
from vcgym.envs.call.controllers import Commanded, LagAgent, level_at
from vcgym.network.playout.player import OPERATION_US, UNIT_US

PACE = OPERATION_US // UNIT_US  # the player moves by one part in so many of the time that passes


@rule(Control.LAG, learns=False, decided=Decided.OUTSIDE)
class HeadroomAgent(NamedTuple):
    """The headroom is chosen outside, at each arrival."""


@rule(Control.LAG, learns=False, decided=Decided.COMMANDED)
class CommandedHeadroom(NamedTuple):
    """The headroom follows commands that come with the router's decisions."""


_IN_HEADROOM: dict[type, NamedTuple] = {LagAgent: HeadroomAgent(), Commanded: CommandedHeadroom()}


def in_headroom(receiver: NamedTuple) -> NamedTuple:
    """Return the stand-in that takes a headroom, for one that takes a lag; a rule as it is.

    Raises:
        ValueError: a stand-in for an agent that sets the target of a count buffer.
    """
    if decided(receiver) == INSIDE:
        return receiver
    if type(receiver) not in _IN_HEADROOM:
        raise ValueError("action = 'relative': allowed with mechanism watermark alone, a headroom is turned into a lag")
    return _IN_HEADROOM[type(receiver)]


PACED = np.dtype(
    (
        np.record,
        [
            ("window", JITTER_WINDOW),
            ("newest_us", "i8"),  # largest sent time
            ("delay_us", "i8"),  # of that packet
            ("arrived_us", "i8"),  # last arrival
            ("target_us", "i8"),
            ("playout_us", "i8"),  # P
        ],
    )
)


@allocate.register(HeadroomAgent, CommandedHeadroom)
def _allocate(params, sessions, paths):
    return np.zeros(sessions, PACED).view(np.recarray)


@init.register(HeadroomAgent, CommandedHeadroom)
def _init(params, state, s, start, key):
    paced = state[s]
    reset_window(paced.window)
    paced.newest_us = -1
    paced.delay_us = paced.arrived_us = paced.target_us = paced.playout_us = 0


@decide.register(HeadroomAgent, CommandedHeadroom)
def _decide(params, state, s, now_us):
    return 0


@level_at.register(HeadroomAgent, CommandedHeadroom)
def _level_at(params, state, s, record, decided_us):
    paced = state[s]
    delay_us = record.arrived_us - record.sent_us
    smallest_us = delay_us - max(0, accumulated_jitter(paced.window, record.sent_us, record.arrived_us))
    pace_us = (record.arrived_us - paced.arrived_us) // PACE
    paced.arrived_us = record.arrived_us
    paced.playout_us += min(max(paced.target_us - paced.playout_us, -pace_us), pace_us)
    if record.sent_us > paced.newest_us:
        paced.newest_us = record.sent_us
        paced.delay_us = delay_us
        paced.playout_us = max(paced.playout_us, delay_us)
    paced.target_us = paced.delay_us + decided_us
    return max(0, max(paced.target_us, paced.playout_us) - smallest_us)
