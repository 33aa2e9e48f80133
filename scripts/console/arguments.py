"""Check of what a user typed against the fields of the command's config, before anything heavy is imported.

Names of keys, forms, types, ranges, choices, names of systems and environments, and files are checked here; what depends on several keys is
checked when the config is built. Whatever only hydra can read (interpolations, sweeps by functions, mappings) is left to it.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

from vcgym.agents.config.names import SET_BY_VCGYM, PolicyName, refusals
from vcgym.baselines.controls.control import CONTROLS
from vcgym.scripts.console.literal import LIST, OTHER, forms_of, readable, typed
from vcgym.scripts.console.search_path import chosen_file, option_of, search_path
from vcgym.scripts.console.usage import NEEDED, Key, choices_of, groups_of

_FLAGS = {"-m", "--multirun", "-r", "--run", "--resolve", "--hydra-help", "-i", "--info"}
_FLAGS_OF_ONE = {
    "-c", "--cfg", "-p", "--package", "-cp", "--config-path", "-cn", "--config-name", "-cd", "--config-dir", "--experimental-rerun",
}  # fmt: skip
_KINDS_OF_INFO = {"all", "config", "defaults", "defaults-tree", "plugins", "searchpath"}
_OF_HYDRA: dict[str, Any] = {"hydra.run.dir": str, "hydra.sweep.dir": str, "hydra.sweep.subdir": str, "hydra.searchpath": list[str]}
_ONLY_HYDRA = re.compile(r"[${}'\"\\(]")
_DEEPEST = 10  # YAML files of environments, each built on another
_KEY = re.compile(r"(\+\+|\+|~)?([^=]+)=(.*)", re.DOTALL)
_PART = re.compile(r"[A-Za-z_$][\w$-]*|0|[1-9][0-9]*", re.ASCII)
"""Part of a key between dots, as hydra reads one."""


class _Argument(NamedTuple):
    """An argument of the form key=value: its place among the words, what precedes the key, the key and the value."""

    place: int
    prefix: str
    key: str
    text: str


def check(words: Sequence[str], keys: Sequence[Key], name: str, conf: str) -> list[str]:
    """Check the arguments of a command; return them as hydra reads them, with texts and paths in quotes (`vcgym.scripts.console.literal`).

    `words` are what was typed after the command; its YAML is `name` in the package `conf`.

    Raises:
        ValueError: an argument that the command would refuse; the message names it and what is allowed.
    """
    places = search_path(words, conf)
    groups = {group: names for group, names, _ in groups_of(name, conf, places)}
    known = [*(key.name for key in keys), *groups]
    given = list(_arguments(words, known))
    by_key = {one.key: one.text for one in given}
    multirun = bool({"-m", "--multirun"} & set(words))
    is_of_another = option_of(words, "-cn", "--config-name") is not None or option_of(words, "-cp", "--config-path") is not None
    options = {} if is_of_another else _options(by_key, name, conf, groups, places)
    checked = []
    for _, prefix, key, text in given:
        declared: Sequence[Key] = ()
        if key in options:
            declared = [Key(key, options[key], "", "", "")]
        elif not (_is_choice(prefix, key, text, multirun, groups, places) or key.startswith("hydra.") or key.endswith("_target_")):
            declared = () if is_of_another and key not in known else _named(key, keys, groups)
        checked.append(f"{prefix}{key}={_checked(key, text, declared, multirun, known)}")
    missing = [key.name for key in keys if key.default in (NEEDED, "???") and "." not in key.name and key.name not in by_key]
    is_from_file = is_of_another or any(one.prefix == "+" for one in given)
    if missing and not is_from_file and all(option_of(words, *flags) is None for flags in (("-c", "--cfg"), ("-i", "--info"))):
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{', '.join(missing)} {verb} not given; type {' '.join(f'{key}=...' for key in missing)}")
    places_of_keys = {one.place for one in given}
    return [word for place, word in enumerate(words) if place not in places_of_keys] + checked  # hydra takes no options between keys


def meant(text: str, known: Sequence[str]) -> str:
    """Return a suggestion for the end of an error: one of the names that the error allows, or one of the keys."""
    refused = re.match(r"(\S+) is no key of", text) or re.search(r"'([^']+)'.*\ballowed(?: are)?:? ?(.+)$", text)
    if refused is None:
        return ""
    allowed = known if refused.re.groups == 1 else [name.strip("'") for name in re.split(", | or ", refused[2]) if " " not in name]
    close = [name for name in get_close_matches(refused[1], allowed, 1) if name != refused[1]]
    return f"; did you mean {close[0]}?" if close else ""


def _arguments(words: Sequence[str], known: Sequence[str]) -> Iterator[_Argument]:
    """Yield each argument of the form key=value; refuse other forms."""
    left = iter(enumerate(words))
    for place, word in left:
        following = words[place + 1] if place + 1 < len(words) else "..."
        if word in _FLAGS_OF_ONE or (word in ("-i", "--info") and following in _KINDS_OF_INFO):
            next(left, None)
        elif word.startswith("-") and word.partition("=")[0] not in _FLAGS | _FLAGS_OF_ONE:
            name, is_given, value = word.lstrip("-").replace("-", "_").partition("=")
            close = get_close_matches(name, known, 1)
            meaning = f"type {close[0]}={value if is_given else _value_in(following)}" if close else "--help lists the keys"
            raise ValueError(f"{word} is no option; arguments are key=value: {meaning}")
        elif not word.startswith("-") and (found := _KEY.fullmatch(word)):
            _require_readable(found[2])
            yield _Argument(place, found[1] or "", found[2], found[3])
        elif not word.startswith(("-", "~")):
            close = get_close_matches(word, known, 1)
            meaning = f": type {close[0]}={_value_in(following)}" if close else "; --help lists the keys"
            raise ValueError(f"{word} is no argument of the form key=value{meaning}")


def _require_readable(key: str) -> None:
    """Raise ValueError if hydra cannot read a key, such as agents.Zoë; the message says how it can be spelled."""
    if not key.isascii() or not (re.search("[/@:]", key) or all(_PART.fullmatch(one) for one in key.split("."))):
        plain = unicodedata.normalize("NFKD", key).encode("ascii", "ignore").decode()
        spelled = [re.sub(r"\W+", "_", one).strip("_").lstrip("0123456789") or "NAME" for one in plain.split(".")]
        raise ValueError(f"{key} has characters that no key has; allowed: a-z, A-Z, 0-9, _ and -; type {'.'.join(spelled)}=...")


def _value_in(word: str) -> str:
    return "..." if word.startswith("-") or "=" in word else word


def _is_choice(
    prefix: str, key: str, text: str, multirun: bool, groups: Mapping[str, Sequence[str]], places: Sequence[Path]
) -> bool:  # fmt: skip
    """Return True if a key is a group of configs; refuse a choice that is in no folder of the search path."""
    if key.startswith("hydra/"):
        return True
    names = groups.get(key) or choices_of(key, places)
    if not names or (key not in groups and "." in key):
        return False
    if key not in groups and not prefix.startswith("+"):
        raise ValueError(f"{key} is no key of this command, but a group of configs; type +{key}={text}")
    for value in _values(text, multirun):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one.removesuffix(".yaml") not in names:
                raise ValueError(f"{key} is {one!r}; allowed: {', '.join(names)}")
    return True


def _named(key: str, keys: Sequence[Key], groups: Any) -> list[Key]:
    """Return the declared keys of a name, one for each choice of a config; none if any name is allowed there."""
    if found := [one for one in keys if one.name == key]:
        return found
    if below := [one for one in keys if one.name.endswith(".KEY") and key.startswith(one.name[:-3])]:
        return [one for one in below if "." not in key[len(one.name) - 3 :]]
    if any(key.startswith(f"{group}.") and not any(one.name.startswith(f"{group}.") for one in keys) for group in groups):
        return []
    raise ValueError(f"{key} is no key of this command; --help lists those that are")


def _checked(key: str, text: str, declared: Sequence[Key], multirun: bool, known: Sequence[str]) -> str:
    """Return a value as hydra reads it; refuse one of a wrong type."""
    kinds = [one.kind for one in declared if one.kind is not None] or [_OF_HYDRA.get(key, Any)]
    is_below = bool(declared) and declared[0].name.endswith(".KEY")
    forms = {form for kind in kinds for form in forms_of(kind)}
    if OTHER not in forms and (is_below or forms != {LIST} or text.startswith("[")):
        read = typed(text, forms, multirun, known)
        for name in [name for one in read if isinstance(one.read, dict) for name in one.read]:
            _require_readable(f"{key}.{name}")
        values, written = [one.read for one in read if one.is_final], ",".join(one.written for one in read)
    else:
        written = readable(text, multirun)
        values = [] if written != text else _values(text, multirun)
    for given in values if declared else ():
        value = _listed(given) if LIST in forms and (is_below or isinstance(given, dict)) else given
        refused = [error for kind in kinds for error in [_refusal(kind, value, key)] if error]
        if len(refused) == len(kinds):
            raise ValueError(refused[0] if value is given else refused[0].replace(f"{key}.0 is", f"{key} is", 1))
    return written


def _listed(given: Any) -> Any:
    """Return a text, and each of a mapping, as the list of one for which it stands."""
    return {key: _listed(one) for key, one in given.items()} if isinstance(given, dict) else [given] if isinstance(given, str) else given


def _refusal(kind: Any, value: Any, key: str) -> str | None:
    if isinstance(value, float) and value.is_integer() and _refusal(kind, int(value), key) is None:
        return None
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True, arbitrary_types_allowed=True)).validate_python(value)
    except ValidationError as error:
        return refusals(error, key)
    except PydanticSchemaGenerationError:
        return None  # a type that only the command itself can check
    return None


def _values(text: str, multirun: bool) -> list[Any]:
    """Return the value of an argument, or each of a multirun; none if only hydra can read it."""
    if _ONLY_HYDRA.search(text) or (text.count("[") > 1 and not multirun):
        return []
    return [_parsed(one.strip()) for one in (re.split(r",(?![^\[]*\])", text) if multirun else [text])]


def _parsed(text: str) -> Any:
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError(f"{text!r} has no closing bracket; allowed: a list, such as [a,b]")
        return [_parsed(one.strip()) for one in text[1:-1].split(",")] if text[1:-1].strip() else []
    known = {"null": None, "true": True, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _options(
    typed: Mapping[str, str], name: str, conf: str, groups: Mapping[str, Sequence[str]], places: Sequence[Path]
) -> dict[str, Any]:  # fmt: skip
    """Return the types of the typed arguments of the chosen environment, by key; refuse others, and an unknown id."""
    group = next((one for one in groups if one.partition("@")[0] == "env"), None)
    prefix = group.rpartition("@")[2] if group else ""
    asked = [key for key in typed if group and key.startswith((f"{prefix}.options.", f"{prefix}.id"))]
    if not group or not asked:
        return {}
    chosen = typed.get(group) or next(choice for one, _, choice in groups_of(name, conf) if one == group)
    env_id = typed.get(f"{prefix}.id") or _written_id("env", chosen, places)
    declared = {} if env_id is None else _arguments_of_id(env_id, f"{prefix}.id")
    found: dict[str, Any] = {}
    for key in asked:
        option, is_option = key.removeprefix(f"{prefix}.options.").partition(".")[0], key.startswith(f"{prefix}.options.")
        if is_option and declared and option not in declared:
            raise ValueError(f"{env_id} has no argument {option!r}; allowed: {', '.join(sorted(declared))}")
        if key == f"{prefix}.options.{option}":
            is_rule = option in CONTROLS
            is_name = is_rule and (not typed[key].startswith("{") or os.path.exists(typed[key]))
            found[key] = PolicyName | None if is_name else Any if is_rule else declared.get(option, Any)
    return found


def _written_id(group: str, choice: str, places: Sequence[Path]) -> str | None:
    """Return the id in the YAML of an environment or in that on which it is built; None if only hydra can tell."""
    for _ in range(_DEEPEST):
        file = chosen_file(group, choice, places)
        written = yaml.safe_load(file.read_text(encoding="utf-8")) if file else None
        if not isinstance(written, dict) or isinstance(written.get("id"), str):
            return written["id"] if isinstance(written, dict) else None
        below = [one for one in written.get("defaults", ()) if isinstance(one, str) and one not in ("_self_", "env_schema")]
        if len(below) != 1:
            return None
        choice = below[0]
    return None


def _arguments_of_id(env_id: str, where: str) -> dict[str, Any]:
    """Return the arguments of an environment of vcgym that a config may set, with their types; none of another one."""
    import gymnasium  # imported here, as what follows: only these keys need it, and most errors are found without it

    from vcgym.envs import IDS, name_of, without_difficulty
    from vcgym.envs.environments.vector.settings import types_of

    if ":" in env_id or "$" in env_id:
        return {}
    if env_id not in gymnasium.registry:
        own = sorted(one for one in gymnasium.registry if one.startswith("vcgym/"))
        raise ValueError(f"{where} is {env_id!r}; allowed: {', '.join(own)}, or module:id")
    if without_difficulty(env_id)[0] not in IDS.values():
        return {}
    return {name: kind for name, kind in types_of(name_of(env_id)).items() if name not in SET_BY_VCGYM}
