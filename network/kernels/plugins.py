"""Objects that installed packages offer as entry points: rules, scenarios, rewards and features by name, stages and commands."""

import logging
import sys
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

log = logging.getLogger(__name__)


def plugins_of(group: str) -> EntryPoints:
    """Return a group's entry points in all installed packages."""
    return _read(tuple(sys.path), group)


@cache
def _read(path: tuple[str, ...], group: str) -> EntryPoints:
    # Reading the metadata of some hundred packages takes 30 ms, finding a group 2 ms, and a list of systems asks thousands of times.
    found: EntryPoints = _read_all(path).select(group=group)
    return found


@cache
def _read_all(path: tuple[str, ...]) -> EntryPoints:
    found: Any = entry_points()
    return found


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's entry points in all installed packages; a group is, for example, `vcgym.rewards`."""
    return tuple(sorted(plugin.name for plugin in plugins_of(group)))


def load_plugin(group: str, name: str) -> Any:
    """Return the object of the entry point with this name, or None."""
    for plugin in plugins_of(group).select(name=name):
        return plugin.load()
    return None


@cache
def load_plugins(group: str) -> tuple[Any, ...]:
    """Return all objects of a group by name; one that cannot be loaded is left out, with a warning that names it."""
    found = []
    for plugin in sorted(plugins_of(group), key=lambda one: one.name):
        try:
            found.append(plugin.load())
        except Exception as error:  # a stranger's module may raise anything
            named = f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
            log.warning(f"the entry point {plugin.name} = {plugin.value} of {group} is left out, since it cannot be loaded: {named}")
    return tuple(found)


@cache
def plugin_modules(path: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the modules of all entry points for vcgym, by entry-point name.

    Args:
        path: `sys.path`, where packages are searched.
    """
    found: dict[str, list[str]] = {}
    for group in _read_all(path).groups:
        for plugin in _read(path, group) if group.startswith("vcgym.") else ():
            found.setdefault(plugin.name, []).append(plugin.module)
    return found
