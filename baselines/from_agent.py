"""Placeholder for an agent that sets a control from outside the loop: one class for all controls.

Inside the loop a rule sets a control. `FromAgent` is a rule that does nothing, so that compiled code treats all controllers alike:
`origin_of` gives the origin of a decision, `level_at` the level of a receiver that follows from it. What else a control does with
decisions is its `effect`, a class with versions of these and of the rules' functions; by default a decision is used as it is.
"""

import enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control
from vcgym.baselines.order.scheduler import choose, choose_victim
from vcgym.baselines.protection.protect import protect
from vcgym.baselines.rule import (
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    report_every_us,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.network.kernels.generic import forward, generic


class Origin(enum.IntEnum):
    """Origin of a decision: a rule, an agent at the location of the control, or a remote agent that sends commands."""

    RULE = 0
    AGENT = 1
    REMOTE = 2


RULE, AGENT, REMOTE = map(int, Origin)  # the values of `origin_of` inside kernels


class AsDecided(NamedTuple):
    """Effect of a decision that is used as it is."""


AS_DECIDED = AsDecided()


class NoState(NamedTuple):
    """Empty state."""

    rows: NDArray[np.int8]


@rule(None, learns=False)
class FromAgent(NamedTuple):
    """Agent in place of a rule."""

    origin: int = AGENT  # AGENT or REMOTE
    effect: Any = AS_DECIDED  # what the control does with decisions


def in_place_of(control: Control, location: str, effect: Any = AS_DECIDED) -> FromAgent:
    """Return the placeholder of an agent at SENDER, CENTRAL (where the path is controlled, wherever a call does that) or RECEIVER.

    It decides at once for controls of that location, and commands others; `effect` is what the control does with decisions.
    """
    return FromAgent(AGENT if CONTROLS[control].location == location else REMOTE, effect)


@generic(inlined=True)
def origin_of(params: Any) -> int:
    """Return the origin of decisions: RULE, AGENT or REMOTE; for a rule a constant inside kernels."""
    return 0


@generic()
def level_at(params: Any, state: Any, s: int, record: Any, decided_us: int) -> int:
    """Return the level that follows from a decision when the packet of `record` arrives; by default the decision itself.

    `decided_us`, int64 of at least 0, is the agent's lag or target.
    """
    return decided_us


@generic()
def select(params: Any, state: Any, s: int, option: int) -> None:
    """Let this option of the agent decide from now on; for a placeholder whose effect holds a rule for each option."""


@generic()
def is_asked(params: Any, state: Any, s: int, now_us: int) -> bool:
    """Return True if the agent sets the rate at each report; for an effect whose law follows reports, if its next decision is due."""
    return True


@generic()
def see_reports(params: Any, state: Any, s: int, stats: Any) -> None:
    """Give row `s` what the reports tell, `FeedbackStats` of `vcgym.envs.call.features.sender`, before `follow`."""


@generic()
def follow(params: Any, state: Any, s: int, now_us: int) -> Any:
    """Return the decision of an effect whose law follows reports as long as `is_asked` is False, here in bit/s."""
    return 0


@allocate.register(AsDecided)
def _allocate(params, sessions, paths):
    return NoState(np.zeros(sessions, np.int8))


@init.register(AsDecided)
def _init(params, state, s, start, key):
    pass


forward(FromAgent, "effect", allocate, init, update, level_at, select, protect, choose, choose_victim, is_asked, see_reports)
forward(FromAgent, "effect", see_sender, report_every_us, wake_us, reads_marks, window_bytes, pacing)


@origin_of.register(FromAgent)
def _origin_of_agent(params):
    return params.origin


@decide.register(FromAgent)
def _decide_of_agent(params, state, s, now_us):
    return follow(params.effect, state, s, now_us)
