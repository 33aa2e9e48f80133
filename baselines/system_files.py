"""Names and files of systems: conf/systems.yaml, data/tuned and data/zoo. No rule is loaded, so a command refuses a name at once."""

import functools
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from vcgym.baselines.controls.control import added_stages
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
    return sorted([*published(), *(name for name in tuned_names() if read_tuned(name).system is not None), *learned_folders()])


@functools.cache
def tuned_names() -> tuple[str, ...]:
    """Return the names of all studies of tuned systems."""
    folder = files("vcgym.data").joinpath("tuned")
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")))


def learned_folders() -> dict[str, Path]:
    """Return the folder of each shipped learned system by name: data/zoo, or that of an added stage."""
    folders = [files("vcgym.data").joinpath("zoo"), *(stage.file("learned") for stage in added_stages())]
    return {file.stem: file.parent for folder in folders for file in sorted(Path(str(folder)).glob("*.json"))}


def published() -> dict[str, Any]:
    """Return the systems of conf/systems.yaml and of added stages by name: the rule of each control, pacing, `label` and `about`."""
    return words_of_systems("systems")


def words_of_systems(section: str) -> dict[str, Any]:
    """Return a section of conf/systems.yaml and of the like files of added stages.

    It is `systems`, or `learned`, `rules`, `families` or `codes`, which are words by name or code.

    Raises:
        ValueError: the file is no YAML.
    """
    packages = "vcgym.conf", *(stage.package for stage in added_stages())
    return _read_systems(*((package, str(files(package).joinpath(SYSTEMS))) for package in packages))[section]


@functools.cache
def _read_systems(*found: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """Return the sections of the files in some packages."""
    sections: dict[str, dict[str, Any]] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of libyaml, where there is one: each command waits for it
    for package, file in found:
        try:
            for section, words in yaml.load(Path(file).read_text(encoding="utf-8"), loader).items():
                sections.setdefault(section, {}).update(words)
        except yaml.YAMLError as error:
            where = f"{package.removeprefix('vcgym.')}/{SYSTEMS}"
            raise ValueError(f"{where} is not valid YAML: {' '.join(str(error).split())}") from error
    return sections


@functools.cache
def read_tuned(name: str) -> Tuned:
    """Read a file in data/tuned."""
    return load_carded(Tuned, "tuned", f"{name}.json")
