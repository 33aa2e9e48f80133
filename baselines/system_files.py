"""Names and files of systems: conf/system, data/tuned and data/zoo. No rule is loaded, so a command refuses a name at once."""

import functools
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from vcgym.network.traces.cards import Carded, load_carded


class Tuned(Carded):
    """A file in data/tuned.

    Attributes:
        study: system that was tuned, objective, search, budget, space, published and tuned values, and the scores of both.
        system: the rules with the best values, as in conf/system; None if no values were better than the published ones.
    """

    study: dict[str, Any]
    system: dict[str, Any] | None


def system_names() -> list[str]:
    """Return the names of all systems, including tuned ones and oracles."""
    return sorted([*published(), *(name for name in tuned_names() if read_tuned(name).system is not None), *zoo_names()])


@functools.cache
def tuned_names() -> tuple[str, ...]:
    """Return the names of all studies of tuned systems."""
    folder = files("vcgym.data").joinpath("tuned")
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")))


def zoo() -> Path:
    """Return the folder of the shipped learned systems."""
    return Path(str(files("vcgym.data").joinpath("zoo")))


def zoo_names() -> list[str]:
    """Return the names of the shipped learned systems."""
    return sorted(file.stem for file in zoo().glob("*.json"))


@functools.cache
def published() -> dict[str, Traversable]:
    """Return the files in conf/system by name."""
    folder = files("vcgym.conf").joinpath("system")
    return {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}


@functools.cache
def read_tuned(name: str) -> Tuned:
    """Read a file in data/tuned."""
    return load_carded(Tuned, "tuned", f"{name}.json")
