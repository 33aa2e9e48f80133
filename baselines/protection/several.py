"""Several rules of the protection: two together, or one for each budget of bytes.

Together, what either of them wants goes. Sets are united. Packets that go again take the path of the first rule that names one: a
retransmission goes along with a copy where one goes, and else where its own rule sends it. A repair packet, and coarse frames, are those of
the first rule that wants any.

The sender of a call knows what it may send, so its rule may depend on the budget.
"""

from typing import Annotated, Any, NamedTuple

from vcgym.baselines.protection.protect import NONE, Protection, in_band, protect
from vcgym.baselines.rule import Control, allocate, init, require_rule, rule, update
from vcgym.network.kernels.ranges import require_within


@rule(Control.PROTECTION)
class BothProtections(NamedTuple):
    """Parameters: two rules."""

    first: Any
    second: Any


class BothProtectionsState(NamedTuple):
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


@rule(Control.PROTECTION)
class ByBudget(NamedTuple):
    """Two rules: `within` for budgets up to `share` of the plain bytes, `beyond` for larger ones; each may be such a pair again."""

    share: Annotated[float, (0.0, 100.0)]
    within: Any
    beyond: Any


def at_budget(params: Any, budget: float) -> Any:
    """Return the rule that protects a call with this budget, a share of the plain bytes at least 0, also where rules are within a rule."""
    while isinstance(params, ByBudget):
        params = params.within if budget <= params.share else params.beyond
    inner = {name: value for name, value in zip(params._fields, params, strict=True) if isinstance(value, tuple)}
    chosen = {name: at_budget(value, budget) for name, value in inner.items() if hasattr(value, "_fields")}
    return params._replace(**chosen) if any(chosen[name] is not inner[name] for name in chosen) else params


@allocate.register(ByBudget)
def _allocate_by_budget(params, sessions, paths):
    require_within(params)
    require_rule("within", params.within, Control.PROTECTION)
    require_rule("beyond", params.beyond, Control.PROTECTION)
    return ()
