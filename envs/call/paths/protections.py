"""Effect of an agent's decisions for the protection: rules at the sender, between which its commands change."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control, OneOf
from vcgym.baselines.from_agent import select
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.held import HeldCopies, HeldCopiesState
from vcgym.baselines.protection.protect import protect
from vcgym.baselines.rule import allocate, init, update

_OPTIONS = CONTROLS[Control.PROTECTION].decision
assert isinstance(_OPTIONS, OneOf)


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
def _allocate(params, sessions, paths):
    fixed, copies, held = (allocate(rule, sessions, paths) for rule in (params.none, params.copies, params.held_copies))
    return ProtectionsState(fixed, copies, held, np.zeros(sessions, np.int64))


@init.register(Protections)
def _init(params, state, s, start, key):
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
