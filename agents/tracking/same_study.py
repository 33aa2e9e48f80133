"""Check that a folder holds the study of a config, before it is resumed."""

from pathlib import Path
from typing import Any, Protocol

from vcgym.agents.config.base import PLACES
from vcgym.agents.tracking.tracking import flatten
from vcgym.network.traces.plain_file import read_json
from vcgym.network.traces.refusal import shown


class StudyConfig(Protocol):
    """Fields that the config of any study has."""

    @property
    def folder(self) -> Path: ...

    @property
    def without_effect(self) -> frozenset[str]: ...

    def decisive(self) -> dict[str, Any]: ...


def require_same_study(config: StudyConfig) -> None:
    """Raise ValueError if the folder holds a study of another config, which this config cannot resume.

    Raises:
        ValueError: the message names the field that differs.
    """
    path = config.folder / "config.json"
    if not path.exists():
        return
    begun = {name: value for name, value in flatten(read_json(path)).items() if not _has_no_effect(name, config)}
    wanted = flatten(config.decisive())
    for name in sorted(begun.keys() | wanted.keys()):
        if begun.get(name, "absent") != wanted.get(name, "absent"):
            raise ValueError(
                f"{path} is of another study: {shown(name)[1:-1]} is {shown(begun.get(name, 'absent'))}, "
                f"expected {shown(wanted.get(name, 'absent'))}; set it so, or choose another folder"
            )


def _has_no_effect(name: str, config: StudyConfig) -> bool:
    """Return True for fields without effect, including nested ones, and for the paths of a nested training."""
    first, _, inner = name.partition(".")
    return first in config.without_effect or (first == "train" and inner.partition(".")[0] in PLACES)
