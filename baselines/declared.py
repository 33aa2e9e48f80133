"""Rules declared as one class: parameters with ranges, records of state, and methods that see the rows of one session.

The method of a rule with the parts `call` and `arms`

    def update(self, call, arms, record): ...

becomes its version of the generic function ``update(params, state, s, record)``, and gets ``state.call[s]`` and ``state.arms[s]``. In a
compiled method `self` is no more than the parameters: what methods share are kernels next to the class.
"""

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import records, restart

_METHODS: dict[str, Any] = {}  # generic functions of rules by name


def _one_for_each_path(params: Any, paths: int) -> int:
    return paths


class Rows(NamedTuple):
    """Part of a state with several rows in each session, by default one for each path."""

    kind: Any  # the class of a record, or a type of numpy
    number: int | Callable[[Any, int], int] = _one_for_each_path  # number of rows, or a function of parameters and paths that returns it


class Table(NamedTuple):
    """Part of a state that follows from the parameters and is the same in all sessions; methods get all of it, to read."""

    of: Callable[[Any], Any]  # function of the parameters that returns an array


def add_methods(*generics: Any) -> None:
    """Make generic functions, of `params` or of `params, state, s` and more, methods that a declared rule may have."""
    _METHODS.update({one.__name__: one for one in generics})


def is_declared(cls: type) -> bool:
    """Return True if a class has a method of rules."""
    return not _METHODS.keys().isdisjoint(vars(cls))


def register_methods(cls: Any, parts: Mapping[str, Any]) -> None:
    """Register a rule's methods, with `allocate` and the start of a row, which follow from the parts of its state.

    Args:
        cls: class of parameters; a method `check`, in Python, may reject combinations of them.
        parts: each a record's class or a type of numpy, for one in a session, `Rows` or `Table`.

    Raises:
        TypeError: the arguments of a method are not those of the generic function, with the parts in place of `state` and `s`.
    """
    tables = {name: part.of for name, part in parts.items() if isinstance(part, Table)}
    rows = {name: part if isinstance(part, Rows) else None for name, part in parts.items() if name not in tables}
    kinds = {name: part.kind if isinstance(part, Rows) else part for name, part in parts.items() if name not in tables}
    state = namedtuple(f"{cls.__name__}State", list(parts), module=cls.__module__)  # type: ignore[misc]
    state.__qualname__ = f"{cls.__qualname__}.State"  # where pickles, as those of the disk cache, find it
    cls.State = state

    def allocate(params: Any, sessions: int, paths: int) -> Any:
        require_within(params)
        if hasattr(params, "check"):
            params.check()
        made = {name: of(params) for name, of in tables.items()}
        for name, several in rows.items():
            number = several.number if several else None
            shape = () if number is None else (number(params, paths) if callable(number) else number,)
            made[name] = records(kinds[name], sessions, *shape)
        return state(**made)

    _METHODS["allocate"].register(cls)(allocate)
    for name in dict.fromkeys(("init", *(one for one in _METHODS if one in vars(cls)))):
        arguments = list(inspect.signature(_METHODS[name]).parameters)
        has_state = arguments[1:3] == ["state", "s"]
        seen, others = (list(parts), arguments[3:]) if has_state else ([], arguments[1:])
        known: dict[str, Any] = {"__name__": cls.__module__, "restart": restart}
        lines = [f"def {name}({', '.join(arguments)}):", "    pass"]
        if name == "init":
            known |= {f"initial_{part}": records(kind, 1) for part, kind in kinds.items()}
            lines += [f"    restart(state.{part}[{'s' if rows[part] else 's:s + 1'}], initial_{part})" for part in rows]
        if name in vars(cls):
            method = vars(cls)[name]
            if (found := list(inspect.signature(method).parameters)) != (wanted := ["self", *seen, *others]):
                raise TypeError(f"{cls.__name__}.{name}({', '.join(found)}): allowed is ({', '.join(wanted)})")
            known["method"] = allocating_kernel(method) if name == "init" else kernel(method)
            of_session = [f"state.{part}" if part in tables else f"state.{part}[s]" for part in seen]
            lines.append(f"    return method({', '.join(['params', *of_session, *others])})")
        exec("\n".join(lines), known)  # numba needs each part by its name
        _METHODS[name].register(cls)(known[name])
