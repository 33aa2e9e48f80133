"""A system, a pair of rules or a sender, as something to be tuned: its parameters by dotted names, and the system as YAML."""

import enum
import hashlib
from collections.abc import Mapping
from typing import Any

import yaml

from vcgym.agents.sweeps.search import Domain, Values
from vcgym.baselines.configured import mapping_of, target
from vcgym.leaderboard.kept import described

Spaces = Mapping[str, Mapping[str, Domain]]
"""For the class of a rule, as `_target_` names it, where each of its parameters is drawn; `lag.quantile` is one of a rule within."""


def space_of(system: Any, spaces: Spaces) -> dict[str, Domain]:
    """Where each parameter of the system is drawn, by names such as `receiver.quantile`."""
    return {
        f"{lever}.{name}": domain for lever, rule in system._asdict().items() for name, domain in spaces.get(target(rule), {}).items()
    }  # fmt: skip


def with_values(params: Any, values: Mapping[str, float | int]) -> Any:
    """`params` with the named values; numbers are cut to four significant digits, as they are written.

    Raises:
        ValueError: no such parameter.
    """
    for name, value in values.items():
        field, _, rest = name.partition(".")
        if field not in params._fields:
            raise ValueError(f"{type(params).__name__} has no parameter {field!r}; allowed: {', '.join(params._fields)}")
        before = getattr(params, field)
        is_choice = isinstance(before, bool | enum.IntEnum)
        after = with_values(before, {rest: value}) if rest else type(before)(value) if is_choice else short(value)
        params = params._replace(**{field: after})
    return params


def short(value: float | int) -> float | int:
    """A number as it is written in a file: four significant digits."""
    return int(value) if isinstance(value, int) else float(f"{value:.4g}")


def values_of(params: Any, names: Mapping[str, Any]) -> Values:
    """What `params` has under each of `names`."""

    def of(name: str) -> Any:
        found = params
        for field in name.split("."):
            found = getattr(found, field)
        return int(found) if isinstance(found, enum.IntEnum) else found

    return {name: of(name) for name in names}


def short_hash(system: Any) -> str:
    """Sixteen hex digits that follow from the classes and all parameters of the system."""
    return hashlib.sha256(described(system).encode()).hexdigest()[:16]


def as_yaml(system: Any, about: str) -> str:
    """The system as a file of conf/system or conf/sender; `about` is its first line, a comment."""
    return f"# {about}\n" + yaml.safe_dump({lever: mapping_of(rule) for lever, rule in system._asdict().items()}, sort_keys=False)
