"""Objects that installed packages offer as entry points: rules, scenarios, rewards and features by name."""

from functools import cache
from importlib.metadata import entry_points
from typing import Any


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's entry points in all installed packages; a group is, for example, `vcgym.rewards`."""
    return tuple(sorted(plugin.name for plugin in entry_points(group=group)))


def load_plugin(group: str, name: str) -> Any:
    """Return the object of the entry point with this name, or None."""
    for plugin in entry_points(group=group, name=name):
        return plugin.load()
    return None


@cache
def plugin_modules(path: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the modules of all entry points for vcgym, by entry-point name.

    Args:
        path: `sys.path`, where packages are searched.
    """
    found: dict[str, list[str]] = {}
    offered = entry_points()
    for group in offered.groups:
        for plugin in offered.select(group=group) if group.startswith("vcgym.") else ():
            found.setdefault(plugin.name, []).append(plugin.module)
    return found
