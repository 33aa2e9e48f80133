"""Names and files of systems: conf/systems.yaml, data/tuned and data/zoo. No rule is loaded, so a command refuses a name at once."""

import functools
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from vcgym.network.traces.cards import Carded, load_carded

SYSTEMS = "systems.yaml"


class Tuned(Carded):
    """A file in data/tuned.

    Attributes:
        study: system that was tuned, objective, search, budget, space, published and tuned values, and the scores of both.
        system: the rules with the best values, as in conf/systems.yaml; None if no values were better than the published ones.
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


def published() -> dict[str, Any]:
    """Return the systems of conf/systems.yaml by name: the rule of each control, pacing, `label` and `about`."""
    return words_of_systems("systems")


def words_of_systems(section: str) -> dict[str, Any]:
    """Return a section of conf/systems.yaml: `systems`, or `learned`, `rules`, `families` or `codes`, which are words by name or code.

    Raises:
        ValueError: the file is no YAML.
    """
    return _read_systems(str(files("vcgym.conf").joinpath(SYSTEMS)))[section]


@functools.cache
def _read_systems(file: str) -> dict[str, dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of libyaml, where there is one: each command waits for it
    try:
        return dict(yaml.load(Path(file).read_text(encoding="utf-8"), loader))
    except yaml.YAMLError as error:
        raise ValueError(f"conf/{SYSTEMS} is not valid YAML: {' '.join(str(error).split())}") from error


@functools.cache
def read_tuned(name: str) -> Tuned:
    """Read a file in data/tuned."""
    return load_carded(Tuned, "tuned", f"{name}.json")
