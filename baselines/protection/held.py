"""Copies that come no earlier than packets usually do, where there is reason for them, and of a few packets while others are missing.

    copy     of this packet while the trigger wants one (`TriggeredProtection`); else of each `each`-th, while more than `missing` of the
             last packets are missing and the other path is at most `behind_ms` slower than the path in use usually is
    when     at once if the fastest other path is slower than the path in use usually is (its mean by the trigger); else so many packets
             later that the copy comes at the usual time
    instead  the protection `instead`, and no new copies, while more than `overtaken` of the last packets came after a newer one: there
             delays differ from packet to packet, so nothing warns of a late one, and its neighbours are in time

A copy that comes earlier than packets usually do tells a receiver that learns from arrivals that it may wait less, and then the next
packets come late: of a copy of each tenth packet that costs more than the repairs give. Held back, copies repair without it. RFC 7197
delays copies too, for another reason: to survive outages. Our own rule.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.fixed import FixedProtection
from vcgym.baselines.protection.protect import NONE, protect, protection
from vcgym.baselines.protection.seen import expected_ms, fastest_other
from vcgym.baselines.protection.triggered import TriggeredProtection
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, require_rule, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

_LONGEST = 59  # packets that a copy is held back at most
_BITS = (1 << (_LONGEST + 1)) - 1


@rule(Control.PROTECTION)
class HeldCopies(NamedTuple):
    """Parameters; of `trigger` the copies alone are used, of `instead` the earlier frames and repair packets."""

    trigger: TriggeredProtection = TriggeredProtection(rise_ms=5.0, mean_ms=500.0, silent_ms=15.0)
    each: Annotated[int, (1, 1_000_000)] = 12
    missing: Annotated[float, (0.0, 1.0)] = 0.005
    behind_ms: Annotated[float, (0.0, 1e9)] = 10.0
    overtaken: Annotated[float, (0.0, 1.0)] = 0.05
    instead: Any = FixedProtection(repair=1, covers=12)
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0


class HeldCopiesState(NamedTuple):
    trigger: Any
    waiting: NDArray[np.int64]  # (sessions,) set of the packets whose copies are held back
    instead: Any


@allocate.register(HeldCopies)
def _allocate(params, sessions, paths):
    require_within(params)
    require_rule("instead", params.instead, Control.PROTECTION)
    instead = allocate(params.instead, sessions, paths)
    return HeldCopiesState(allocate(params.trigger, sessions, paths), np.zeros(sessions, np.int64), instead)


@init.register(HeldCopies)
def _init(params, state, s, start, key):
    init(params.trigger, state.trigger, s, start, key)
    init(params.instead, state.instead, s, start, key)
    state.waiting[s] = 0


@update.register(HeldCopies)
def _update(params, state, s, record):
    update(params.trigger, state.trigger, s, record)
    update(params.instead, state.instead, s, record)


@protect.register(HeldCopies)
def _protect(params, state, s, now_us, path):
    seen, usual_ms = state.trigger.paths[s], state.trigger.means[s, path].mean_ms
    loss, other = state.trigger.row[s].loss, fastest_other(seen, now_us, path, NONE)
    instead = protect(params.instead, state.instead, s, now_us, path)
    is_overtaken = loss.overtaken > params.overtaken
    earlier, covers = (instead.earlier, instead.covers) if is_overtaken else (0, 0)
    again, held = 0, np.int64(0)
    if other != NONE:
        later_ms = expected_ms(seen, other, now_us) - usual_ms
        is_turn = packet_at(now_us, params.packet_ms) % params.each == 0
        is_calm = is_turn and loss.missing > params.missing and later_ms <= params.behind_ms
        is_wanted = not is_overtaken and (protect(params.trigger, state.trigger, s, now_us, path).path != NONE or is_calm)
        waiting = (state.waiting[s] << 1) & _BITS | (1 if is_wanted else 0)
        held = np.int64(min(max(np.ceil(-later_ms / params.packet_ms), 0.0), _LONGEST))
        again = (waiting >> held) << held
        state.waiting[s] = waiting & ~again
    return protection(earlier, again, other if again != 0 else NONE, covers=covers, behind=instead.behind)
