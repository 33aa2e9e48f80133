"""Objects that installed packages offer as entry points: rules, scenarios, rewards and features by name."""

from importlib.metadata import entry_points
from typing import Any


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages offer in a group, such as `vcgym.rewards`."""
    return tuple(sorted(plugin.name for plugin in entry_points(group=group)))


def load_plugin(group: str, name: str) -> Any:
    """Return the object that a package offers under this name, or None."""
    for plugin in entry_points(group=group, name=name):
        return plugin.load()
    return None
