"""Checks that a folder holds the study of a config, or a checkpoint the training, before it is resumed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vcgym.agents.config.base import PLACES, Config
from vcgym.agents.tracking.tracking import flatten
from vcgym.network.traces.plain_file import read_json
from vcgym.network.traces.refusal import shown


def require_same(path: Path, what: str, found: object, wanted: Mapping[str, Any], advice: str = "") -> None:
    """Raise ValueError unless what `path` says of its study or training is equal to what it must be.

    Args:
        path: file or folder, for the error.
        what: "study" or "training".
        found: values by name that it holds; any other value is refused.
        wanted: values that it must hold.
        advice: end of the error.

    Raises:
        ValueError: the message names the first field that differs, its value and the expected one.
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"{path}: what it says of its {what} is {shown(found)}; allowed: an object")
    for name in sorted({*found, *wanted}):
        values = [shown(values.get(name, "absent")) for values in (found, wanted)]
        if name not in found or name not in wanted or found[name] != wanted[name]:
            raise ValueError(f"{path} is of another {what}: {shown(name)[1:-1]} is {values[0]}, expected {values[1]}{advice}")


def require_same_study(folder: Path, config: Config) -> None:
    """Raise ValueError if a folder holds a study of another config, which this config cannot resume.

    Raises:
        ValueError: the message names the field that differs.
    """
    path = folder / "config.json"
    if not path.exists():
        return
    begun = {name: value for name, value in flatten(read_json(path)).items() if not _has_no_effect(name, config)}
    require_same(path, "study", begun, flatten(config.decisive()), "; set it so, or choose another folder")


def _has_no_effect(name: str, config: Config) -> bool:
    """Return True for fields without effect, including nested ones, and for the paths of a nested training."""
    first, _, inner = name.partition(".")
    return first in config.without_effect or (first == "train" and inner.partition(".")[0] in PLACES)
