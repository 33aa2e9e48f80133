"""Rules as mappings, used in YAML and saved configs: `_target_` names a class, the other keys its parameters.

    _target_: VCRoute
    sample: mean                    an enum member by its name
    topk: {choice: best_five}       a nested rule by its parameters, with `_target_` unless its class is fixed
    predictor: shipped_network      a class alone, if its parameters keep their defaults

Allowed are the classes of `vcgym.baselines`, `vcgym.predictors` and `vcgym.agents.controllers`, the shipped predictors, the rules of added
stages, and the classes that installed packages register as entry points of `PLUGINS`, by the entry point's name or by the class. A class of
`vcgym.baselines` or of a stage needs no module, as no two have one name; saved configs name it.
"""

import enum
import functools
import importlib
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import added_stages
from vcgym.network.kernels.plugins import plugins_of
from vcgym.network.traces.refusal import shown
from vcgym.predictors.published import shipped_network

PLUGINS = ("vcgym.rules", "vcgym.features", "vcgym.rewards")
"""Groups of entry points."""
ROOMS = ("vcgym.baselines.", "vcgym.predictors.", "vcgym.agents.controllers.", "vcgym.envs.call.features.", "vcgym.envs.call.rewards.")
_SHIPPED = f"{shipped_network.__module__}.{shipped_network.__name__}"


def rule_from(written: Any, where: str) -> Any:
    """Return the parameters that a mapping names.

    Args:
        written: a mapping with `_target_`, or a class alone.
        where: prefix of errors, such as `receiver`.

    Raises:
        ValueError: `written` is not a mapping, its class is not allowed, or a parameter is unknown, missing or of a wrong type. Ranges are
            not checked here (see `vcgym.baselines.rule.require_rule`).
    """
    if isinstance(written, str) and is_rule(written):
        written = {"_target_": written}
    if not isinstance(written, Mapping) or not isinstance(written.get("_target_"), str):
        raise ValueError(f"{where} = {shown(written)}: allowed are mappings with _target_, a class of rules, and its parameters")
    name = class_named(written["_target_"])
    return shipped_network() if name == _SHIPPED and len(written) == 1 else _build(_class(name, where), written, where)


def mapping_of(params: Any, complete: bool = False) -> Any:
    """Return the mapping from which `rule_from` makes `params`; return other values unchanged.

    Args:
        params: a rule.
        complete: include parameters with default values.
    """
    if isinstance(params, enum.Enum):
        return params.name.lower()
    if isinstance(params, np.ndarray):
        return params.tolist()
    if not (isinstance(params, tuple) and hasattr(params, "_asdict")):
        return params
    if type(params).__module__.startswith("vcgym.predictors.") and params is shipped_network():
        return {"_target_": _SHIPPED}
    kind: Any = type(params)
    defaults = {} if complete else kind._field_defaults
    chosen = {name: value for name, value in params._asdict().items() if name not in defaults or defaults[name] != value}
    return {"_target_": target(params), **{name: mapping_of(value, complete) for name, value in chosen.items()}}


def target(params: Any) -> str:
    """Return the class of a rule in the form of `_target_`."""
    return f"{type(params).__module__}.{type(params).__qualname__}"


def class_of_plugin(name: str) -> str | None:
    """Return the class of the entry point with this name in the form of `_target_`, or None."""
    return next((plugin.value.replace(":", ".") for group in PLUGINS for plugin in plugins_of(group) if plugin.name == name), None)


def is_rule(name: str) -> bool:
    """Return True if a name without a module is enough: that of a class of `vcgym.baselines` or of a stage, or of the shipped network."""
    return name in _classes()


def class_named(name: str) -> str:
    """Return a class that needs no module with its module, in the form of `_target_`; other names as they are."""
    return _classes().get(name, name)


def _added_rules() -> list[str]:
    """Return the packages of the rules of added stages."""
    return [f"{stage.package}.rules" for stage in added_stages()]


@functools.cache
def _classes() -> dict[str, str]:
    """Return what a name without a module stands for; the sources tell, as only what is played is imported."""
    found = {shipped_network.__name__: _SHIPPED}
    for package in ("vcgym.baselines", *_added_rules()):
        home = Path(str(files(package)))
        for file in home.rglob("*.py"):
            module = ".".join((package, *file.relative_to(home).with_suffix("").parts))
            names = re.findall(r"^class (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
            found |= {name: f"{module}.{name}" for name in names}
    return found


def _class(name: str, where: str) -> type:
    for plugin in (plugin for group in PLUGINS for plugin in plugins_of(group)):
        if name in (plugin.name, plugin.value.replace(":", ".")):
            found = plugin.load()
            break
    else:
        module, _, attribute = name.rpartition(".")
        if not module.startswith((*ROOMS, *(f"{package}." for package in _added_rules()))):
            raise ValueError(f"{where}: _target_ is {shown(name)}; allowed: a class of {', '.join(ROOMS)} or of a plug-in")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{where}: _target_ is {shown(name)}, which is not there; allowed: a class of rules") from error
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise ValueError(f"{where}: _target_ is {shown(name)}, not a class of parameters; allowed: a NamedTuple")
    return found


def _build(cls: Any, written: Mapping[str, Any], where: str) -> Any:
    given = {name: value for name, value in written.items() if name != "_target_"}
    if unknown := [name for name in given if name not in cls._fields]:
        raise ValueError(f"{where}: {cls.__name__} has no parameter {shown(unknown[0])}; allowed: {', '.join(cls._fields) or 'none'}")
    if missing := [name for name in cls._fields if name not in given and name not in cls._field_defaults]:
        raise ValueError(f"{where}: {cls.__name__} lacks its parameter {missing[0]!r}")
    return cls(**{name: _value(cls.__annotations__[name], value, f"{where}.{name}") for name, value in given.items()})


def _value(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return _member(kind, value, where)
    if isinstance(value, Mapping) and hasattr(kind, "_fields") and "_target_" not in value:
        return _build(kind, value, where)
    if isinstance(value, Mapping) or (kind is Any and isinstance(value, str) and is_rule(value)):
        return rule_from(value, where)
    if get_origin(kind) is np.ndarray:
        return _array(kind, value, where)
    if kind is bool and isinstance(value, int) and value in (0, 1):
        return bool(value)
    if kind in (int, float) and _is_exact(kind, value):
        return kind(value)
    if kind is Any or (isinstance(kind, type) and kind not in (bool, int, float) and isinstance(value, kind)):
        return value
    raise ValueError(f"{where} is {shown(value)}; allowed is a value of {getattr(kind, '__name__', kind)}")


def _is_exact(kind: type[int] | type[float], value: Any) -> bool:
    """Return True if a number is one of `kind` without a loss; infinity is no integer, and an integer may be beyond every float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return bool(kind(value) == value)
    except (OverflowError, ValueError):
        return False


def _array(kind: Any, value: Any, where: str) -> NDArray[Any]:
    wanted = get_args(get_args(kind)[1])[0]
    try:
        return np.asarray(value, wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where} is {shown(value)}; allowed is an array of {wanted.__name__}") from error


def _member(kind: type[enum.IntEnum], value: Any, where: str) -> enum.IntEnum:
    for member in kind:
        if value == member.name.lower() or (isinstance(value, int) and not isinstance(value, bool) and value == member):
            return member
    raise ValueError(f"{where} is {shown(value)}; allowed: {', '.join(member.name.lower() for member in kind)}")
