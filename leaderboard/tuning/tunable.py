"""Parameters of a system by dotted names, and the serialised system."""

import enum
from collections.abc import Iterator, Mapping
from typing import Any

from vcgym.agents.sweeps.search import Domain, Values
from vcgym.baselines.configured import mapping_of, target
from vcgym.baselines.systems import System

Spaces = Mapping[str, Mapping[str, Domain]]
"""For the class of a rule, as `_target_` names it, where each of its parameters is drawn; `lag.quantile` is one of a rule within."""


def space_of(system: System, spaces: Spaces) -> dict[str, Domain]:
    """Return the domain of each parameter of the system, by names such as `playout.quantile`."""
    return {
        f"{where}.{name}": domain for where, rule in rules_within(system) for name, domain in spaces.get(target(rule), {}).items()
    }  # fmt: skip


def start_of(system: System, spaces: Spaces, known: Mapping[str, Any]) -> Values:
    """Return initial values: for each rule of the system those of its class in `known`, else its own."""
    return {
        f"{where}.{name}": value
        for where, rule in rules_within(system)
        for name, value in values_of(known.get(target(rule), rule), spaces.get(target(rule), {})).items()
    }


def rules_within(system: System) -> Iterator[tuple[str, Any]]:
    """Yield the rules of a system and their nested rules, with names such as `playout.lag`."""
    waiting = list(system.rules.items())
    for where, rule in waiting:
        yield where, rule
        fields = [(name, getattr(rule, name)) for name, kind in type(rule).__annotations__.items() if kind is Any]
        waiting += [(f"{where}.{name}", value) for name, value in fields if hasattr(type(value), "facts")]


def with_values(params: Any, values: Mapping[str, float | int]) -> Any:
    """Return a rule or a system with the named values; numbers are rounded to four significant digits, as in files.

    Raises:
        ValueError: a parameter does not exist.
    """
    for name, value in values.items():
        field, _, rest = name.partition(".")
        fields, replaced = ((*params.rules, "pacing"), params.replace) if isinstance(params, System) else (params._fields, params._replace)
        if field not in fields:
            raise ValueError(f"{type(params).__name__} has no parameter {field!r}; allowed: {', '.join(fields)}")
        before = getattr(params, field)
        is_choice = isinstance(before, bool | enum.IntEnum)
        after = with_values(before, {rest: value}) if rest else type(before)(value) if is_choice else short(value)
        params = replaced(**{field: after})
    return params


def short(value: float | int) -> float | int:
    """Round a number to four significant digits, as in files."""
    return int(value) if isinstance(value, int) else float(f"{value:.4g}")


def values_of(params: Any, names: Mapping[str, Any]) -> Values:
    """Return the values of `params` under each of `names`."""

    def of(name: str) -> Any:
        found = params
        for field in name.split("."):
            found = getattr(found, field)
        return int(found) if isinstance(found, enum.IntEnum) else found

    return {name: of(name) for name in names}


def as_data(system: System) -> dict[str, Any]:
    """Return the system in the format of conf/systems.yaml; parameters with default values are omitted."""
    return {name: mapping_of(value) for name, value in {**system.rules, "pacing": system.pacing}.items() if value is not None}
