"""Effects of an agent's decisions for a call over paths: a headroom for playout, and a choice among rules of protection at the sender.

A headroom is the playout delay above the newest packet's delay. A lag is relative to the minimum delay of the last 2 s, which the agent may
not know; a headroom is relative to arrivals. At each arrival

    target = delay of the newest packet + headroom in force
    P      = playout delay of the player under the targets so far (`vcgym.baselines.playout.playout_delay`)
    lag    = max(target, P) - minimum delay of the last 2 s

The receiver does the conversion, so a command stays valid if the delay changes while it is in flight.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control, OneOf
from vcgym.baselines.from_agent import level_at, select
from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.playout.playout_delay import followed_ms
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.held import HeldCopies, HeldCopiesState
from vcgym.baselines.protection.protect import protect
from vcgym.baselines.rule import allocate, init, update
from vcgym.network.kernels.record import record, records, restart
from vcgym.network.kernels.slots import microseconds

_OPTIONS = CONTROLS[Control.PROTECTION].decision
assert isinstance(_OPTIONS, OneOf)


class Headroom(NamedTuple):
    """Effect: a decision is the headroom."""


@record
class Paced:
    """State of a session."""

    window: JitterWindow
    newest_us: int = -1  # newest sent time
    arrived_us: int = 0  # last arrival
    delay_ms: float = 0.0  # delay of the newest packet
    target_ms: float = 0.0
    playout_ms: float = 0.0  # P


_NEW = records(Paced, 1)


@allocate.register(Headroom)
def _allocate(params, sessions, paths):
    return records(Paced, sessions)


@init.register(Headroom)
def _init(params, state, s, start, key):
    restart(state[s : s + 1], _NEW)


@level_at.register(Headroom)
def _level_at(params, state, s, record, decided_us):
    paced = state[s]
    delay_us = record.arrived_us - record.sent_us
    smallest_us = delay_us - max(0, accumulated_jitter(paced.window, record.sent_us, record.arrived_us))
    passed_ms = (record.arrived_us - paced.arrived_us) / 1000.0
    overtaken = record.sent_us < paced.newest_us
    paced.playout_ms = followed_ms(paced.playout_ms, paced.target_ms, passed_ms, delay_us / 1000.0, overtaken)
    paced.arrived_us = record.arrived_us
    if not overtaken:
        paced.newest_us = record.sent_us
        paced.delay_ms = delay_us / 1000.0
    paced.target_ms = paced.delay_ms + decided_us / 1000.0
    return max(0, microseconds(max(paced.target_ms, paced.playout_ms)) - smallest_us)


class Protections(NamedTuple):
    """Effect: commands select the rule of each packet; the fields are the options of the control."""

    none: FixedProtection = FixedProtection()
    copies: FixedCopies = FixedCopies()
    held_copies: HeldCopies = HeldCopies()
    one_earlier: FixedProtection = FixedProtection(earlier=0b10)
    three_earlier: FixedProtection = FixedProtection(earlier=0b1110)
    parity: FixedProtection = FixedProtection(repair=1, covers=4)


_NONE, _COPIES, _HELD_COPIES, _ONE_EARLIER, _THREE_EARLIER, _PARITY = map(_OPTIONS.names.index, Protections._fields)  # the decisions


class ProtectionsState(NamedTuple):
    """State; first axis: session."""

    fixed: Any
    copies: Any
    held: HeldCopiesState
    option: NDArray[np.int64]  # (sessions,), in force


@allocate.register(Protections)
def _allocate_rules(params, sessions, paths):
    fixed, copies, held = (allocate(rule, sessions, paths) for rule in (params.none, params.copies, params.held_copies))
    return ProtectionsState(fixed, copies, held, np.zeros(sessions, np.int64))


@init.register(Protections)
def _init_rules(params, state, s, start, key):
    init(params.copies, state.copies, s, start, key)
    init(params.held_copies, state.held, s, start, key)
    state.option[s] = _NONE


@update.register(Protections)
def _update(params, state, s, record):
    update(params.copies, state.copies, s, record)
    update(params.held_copies, state.held, s, record)


@select.register(Protections)
def _select(params, state, s, option):
    state.option[s] = option


@protect.register(Protections)
def _protect(params, state, s, now_us, path):
    option = state.option[s]
    if option == _HELD_COPIES:
        return protect(params.held_copies, state.held, s, now_us, path)
    # Copies held back while another option decides would come late.
    state.held.waiting[s] = 0
    if option == _COPIES:
        return protect(params.copies, state.copies, s, now_us, path)
    if option == _ONE_EARLIER:
        return protect(params.one_earlier, state.fixed, s, now_us, path)
    if option == _THREE_EARLIER:
        return protect(params.three_earlier, state.fixed, s, now_us, path)
    return protect(params.parity if option == _PARITY else params.none, state.fixed, s, now_us, path)
