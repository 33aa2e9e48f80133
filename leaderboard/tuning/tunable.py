"""Parameters of a system by dotted names, and the system as data."""

from collections.abc import Mapping
from typing import Any

from vcgym.agents.sweeps.search import Domain, Values
from vcgym.baselines.systems import System
from vcgym.predictors.published import shipped_network

Spaces = Mapping[str, Mapping[str, Domain]]
"""For the class of a rule, as `_target_` names it, where each of its parameters is drawn; `lag.quantile` is one of a rule within."""


def space_of(system: System, spaces: Spaces) -> dict[str, Domain]:
    """Return the domain of each parameter of the system, by names such as `receiver.quantile`."""
    return {
        f"{controller}.{name}": domain
        for controller, rule in system.rules.items()
        for name, domain in spaces.get(target(rule), {}).items()
    }  # fmt: skip


def target(rule: Any) -> str:
    """Return the class of a rule as `_target_` names it."""
    return f"{type(rule).__module__}.{type(rule).__qualname__}"


def with_values(params: Any, values: Mapping[str, float | int]) -> Any:
    """Return `params` with the named values; numbers are cut to four significant digits, as they are written.

    Raises:
        ValueError: no such parameter.
    """
    for name, value in values.items():
        field, _, rest = name.partition(".")
        if field not in params._fields:
            raise ValueError(f"{type(params).__name__} has no parameter {field!r}; allowed: {', '.join(params._fields)}")
        before = getattr(params, field)
        after = with_values(before, {rest: value}) if rest else bool(value) if isinstance(before, bool) else short(value)
        params = params._replace(**{field: after})
    return params


def short(value: float | int) -> float | int:
    """Return a number as it is written in a file: four significant digits."""
    return int(value) if isinstance(value, int) else float(f"{value:.4g}")


def values_of(params: Any, names: Mapping[str, Any]) -> Values:
    """Return the values of `params` under each of `names`."""

    def of(name: str) -> Any:
        found = params
        for field in name.split("."):
            found = getattr(found, field)
        return found

    return {name: of(name) for name in names}


def as_data(system: System) -> dict[str, Any]:
    """Return the system as a file of conf/system has it; parameters with their default values are left out."""
    return {name: _written(value) for name, value in system._asdict().items() if value is not None}


def _written(params: Any) -> Any:
    if params is shipped_network():
        return {"_target_": f"{shipped_network.__module__}.{shipped_network.__name__}"}
    if not hasattr(params, "_asdict"):
        return params
    defaults = type(params)._field_defaults
    changed = {name: value for name, value in params._asdict().items() if name not in defaults or defaults[name] != value}
    return {"_target_": target(params), **{name: _written(value) for name, value in changed.items()}}
