"""Two rules of the protection together: what either of them wants goes.

Sets are united. Packets that go again take the path of the first rule that names one: a retransmission goes along with a copy where one
goes, and else where its own rule sends it. A repair packet, and coarse frames, are those of the first rule that wants any.
"""

from typing import Any, NamedTuple

from vcgym.baselines.protection.protect import NONE, Protection, in_band, protect
from vcgym.baselines.rule import Control, allocate, init, require_rule, rule, update


@rule(Control.PROTECTION)
class BothProtections(NamedTuple):
    """Parameters: two rules."""

    first: Any
    second: Any


class BothProtectionsState(NamedTuple):
    """States of both."""

    first: Any
    second: Any


@allocate.register(BothProtections)
def _allocate(params, sessions, paths):
    require_rule("first", params.first, Control.PROTECTION)
    require_rule("second", params.second, Control.PROTECTION)
    return BothProtectionsState(allocate(params.first, sessions, paths), allocate(params.second, sessions, paths))


@init.register(BothProtections)
def _init(params, state, s, start, key):
    init(params.first, state.first, s, start, key)
    init(params.second, state.second, s, start, key)


@update.register(BothProtections)
def _update(params, state, s, record):
    update(params.first, state.first, s, record)
    update(params.second, state.second, s, record)


@protect.register(BothProtections)
def _protect(params, state, s, now_us, path):
    a, b = protect(params.first, state.first, s, now_us, path), protect(params.second, state.second, s, now_us, path)
    # A rule that names no path wants nothing to go again.
    again = (a.again if a.path != NONE else 0) | (b.again if b.path != NONE else 0)
    way, further = (a.path, a.second) if a.path != NONE else (b.path, b.second)
    covers, behind = (a.covers, a.behind) if a.covers > 0 else (b.covers, b.behind)
    return Protection(a.earlier | b.earlier, again, way, further, covers, behind)


@in_band.register(BothProtections)
def _in_band(params, state, s, now_us):
    first, second = in_band(params.first, state.first, s, now_us), in_band(params.second, state.second, s, now_us)
    return first if first.frames != 0 else second
