"""A protection for each budget of bytes: the sender of a call knows what it may send, so its rule may depend on it."""

from typing import Any, NamedTuple

from vcgym.baselines.rule import Control, allocate, require_rule, rule
from vcgym.network.kernels.ranges import require_within


@rule(Control.PROTECTION)
class ByBudget(NamedTuple):
    """Two rules: `within` for budgets up to `share` of the plain bytes, `beyond` for larger ones; each may be such a pair again."""

    share: float
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
def _allocate(params, sessions, paths):
    require_within(params, share=(0.0, 100.0))
    require_rule("within", params.within, Control.PROTECTION)
    require_rule("beyond", params.beyond, Control.PROTECTION)
    return ()
