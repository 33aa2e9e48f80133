"""Folders in which hydra looks for YAML files: the program's own, `--config-dir` and `hydra.searchpath`."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from vcgym.scripts.console.literal import LIST, typed
from vcgym.scripts.console.usage import place_of


def search_path(words: Sequence[str], conf: str) -> list[Path]:
    """Return the folders that the arguments of a command name, in hydra's order, the program's own last.

    Raises:
        ValueError: `--config-dir` is no folder.
    """
    found = []
    if (named := option_of(words, "-cd", "--config-dir")) is not None:
        if not Path(named).is_dir():
            raise ValueError(f"--config-dir is {named!r}; allowed: a folder that exists")
        found.append(Path(named))
    for word in words:
        key, _, text = word.lstrip("+").partition("=")
        if key == "hydra.searchpath":
            read = typed(text, {LIST}, False, ())[0].read
            found += [place for one in (read if isinstance(read, list) else ()) if (place := _place(str(one)))]
    return [*found, place_of(conf)]


def option_of(words: Sequence[str], *names: str) -> str | None:
    """Return the value of an option of hydra, typed as one word or two; None if it was not typed."""
    for place, word in enumerate(words):
        name, is_given, value = word.partition("=")
        if name in names:
            return value if is_given else "".join(words[place + 1 : place + 2])
    return None


def chosen_file(group: str, choice: str, places: Sequence[Path]) -> Path | None:
    """Return the YAML of a choice; None if no folder has it."""
    return next((file for place in places if (file := place / group / f"{choice.removesuffix('.yaml')}.yaml").is_file()), None)


def _place(address: str) -> Path | None:
    scheme, is_given, rest = address.partition("://")
    if not is_given or scheme == "file":
        return Path(rest if is_given else address)
    try:
        spec = importlib.util.find_spec(rest.replace("/", ".")) if scheme == "pkg" else None
    except ImportError:
        return None
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
