"""Custom features of each path or of the call, from any module: parameters, a decorator, and functions selected by class.

    allocate, init, update                       as for a rule (`vcgym.baselines.rule`): the state, its start, and one new record
    measure(params, state, s, now_us, out)       write the feature of each path into `out` (paths,), or of the call into `out` (1,)

They follow the other features of their part, in the given order. "Add a feature" of CONTRIBUTING.md shows a whole one.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vcgym.baselines.rule import allocate, init, update
from vcgym.envs.call.features.layout import Feature
from vcgym.network.kernels.generic import class_constant, generic
from vcgym.network.kernels.plugins import load_plugin, plugin_names
from vcgym.network.kernels.ranges import one_of

PATHS, CALL = "paths", "call"  # parts of an observation that accept custom features
PLUGINS = "vcgym.features"  # entry points of installed packages: classes of features

C = TypeVar("C", bound=type)


def added_feature(part: str, feature: Feature) -> Callable[[C], C]:
    """Return a decorator that states the feature a class adds, and its part, PATHS or CALL."""
    one_of("part", part, (PATHS, CALL))

    def state(cls: C) -> C:
        cls.part, cls.feature = part, feature  # type: ignore[attr-defined]
        return cls

    return state


@generic(abstract=True)
def measure(params: Any, state: Any, s: int, now_us: int, out: Any) -> None:
    """Write the feature of a session at `now_us` into `out`, float32: (paths,) for a feature of each path, (1,) for one of the call."""


class NoFeatures(NamedTuple):
    """Placeholder for no added features."""


class Added(NamedTuple):
    """Linked list of features or, as state, of their states: the first and the rest."""

    first: Any
    rest: Any


is_of_paths = class_constant(lambda cls: getattr(cls, "part", None) == PATHS)


@generic()
def measure_added(
    added: Any, state: Any, s: int, now_us: int, paths: Any, path_column: int, call: Any, call_column: int
) -> None:  # fmt: skip
    """Write the added features of a session behind its other features.

    A feature of each path goes into `paths`, float32 (sessions, paths, features), from `path_column` on; one of the call into `call`,
    float32 (sessions, features), from `call_column` on.
    """


@measure_added.register(Added)
def _measure_added(added, state, s, now_us, paths, path_column, call, call_column):
    if is_of_paths(added.first):
        measure(added.first, state.first, s, now_us, paths[s, :, path_column])
        measure_added(added.rest, state.rest, s, now_us, paths, path_column + 1, call, call_column)
    else:
        measure(added.first, state.first, s, now_us, call[s, call_column : call_column + 1])
        measure_added(added.rest, state.rest, s, now_us, paths, path_column, call, call_column + 1)


@allocate.register(Added)
def _allocate(params, sessions, paths):
    return Added(allocate(params.first, sessions, paths), allocate(params.rest, sessions, paths))


@allocate.register(NoFeatures)
def _allocate_nothing(params, sessions, paths):
    return NoFeatures()


@init.register(Added)
def _init(params, state, s, start, key):
    init(params.first, state.first, s, start, key)
    init(params.rest, state.rest, s, start, key)


@init.register(NoFeatures)
def _init_nothing(params, state, s, start, key):
    pass


@update.register(Added)
def _update(params, state, s, record):
    update(params.first, state.first, s, record)
    update(params.rest, state.rest, s, record)


def chain(given: Sequence[Any]) -> Added | NoFeatures:
    """Return a linked list of features, each given as parameters or by the name of a plug-in.

    Raises:
        ValueError: a class without the decorator, or an unknown name.
    """
    chained: Added | NoFeatures = NoFeatures()
    for one in reversed(given):
        found = load_plugin(PLUGINS, one)() if isinstance(one, str) and one in plugin_names(PLUGINS) else one
        if type(found) not in measure.versions or not hasattr(type(found), "feature"):
            named = "".join(f", {name}" for name in plugin_names(PLUGINS))
            raise ValueError(f"features holds {one!r}: allowed are parameters of classes with the decorator added_feature{named}")
        chained = Added(found, chained)
    return chained


def features_of(added: Added | NoFeatures, part: str) -> tuple[Feature, ...]:
    """Return the features added to a part, in order."""
    if isinstance(added, NoFeatures):
        return ()
    first = (type(added.first).feature,) if type(added.first).part == part else ()
    return (*first, *features_of(added.rest, part))


def fingerprint(params: Any) -> str:
    """Return the classes and values of nested parameters as text; arrays are represented by a SHA-256."""
    if not isinstance(params, tuple):
        return str(params)
    if any(isinstance(value, np.ndarray) for value in params):
        content = b"".join(np.asarray(value).tobytes() for value in params)
        return f"{type(params).__name__} {hashlib.sha256(content).hexdigest()}"
    return f"{type(params).__name__}({', '.join(map(fingerprint, params))})"
