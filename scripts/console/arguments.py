"""Check of what a user typed against the sources of the command's config, before anything heavy is imported.

Names of keys, forms, types, ranges, choices, names of systems and environments, and files are checked here; what depends on several keys is
checked when the config is built. Whatever only hydra can read (interpolations, sweeps by functions, mappings) is left to it.
"""

import ast
import importlib
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from vcgym.agents.config.names import SET_BY_VCGYM, refusals
from vcgym.scripts.console.usage import FIRST_PARTY, Key, configs_of, fields_of, groups_of, keys_of, place_of, tree_of

_LIGHT = ("builtins", "pathlib", "pydantic", "typing", "vcgym.agents.config.base", "vcgym.agents.config.names")
"""Modules that are imported to learn the type of a key; of others only the source is read."""
_FLAGS = {"-m", "--multirun", "-r", "--run", "-i", "--resolve", "--hydra-help", "--experimental-rerun"}
_FLAGS_OF_ONE = {"-c", "--cfg", "-p", "--package", "-cp", "--config-path", "-cn", "--config-name", "-cd", "--config-dir", "--info"}
_ONLY_HYDRA = re.compile(r"[${}'\"\\(]")
_KEY = re.compile(r"(?:\+\+|\+|~)?([\w@.:/-]+)=(.*)", re.DOTALL)


def check(words: Sequence[str], name: str, module: str, conf: str) -> None:
    """Check the arguments of a command.

    Args:
        words: what was typed after the command.
        name: name of its YAML.
        module: dotted name of its module.
        conf: package of the YAML.

    Raises:
        ValueError: an argument that the command would refuse; the message names it and what is allowed.
    """
    keys, groups = keys_of(name, module, conf, deep=True), {group: names for group, names, _ in groups_of(name, conf)}
    typed = dict(_typed(words, [*(key.name for key in keys), *groups]))
    multirun = bool({"-m", "--multirun"} & set(words))
    for key, text in typed.items():
        if key in groups:
            for value in _values(text, multirun):
                if isinstance(value, str) and value not in groups[key]:
                    raise ValueError(f"{key} is {value!r}; allowed: {', '.join(groups[key])}")
        elif not key.startswith("hydra.") and not key.endswith("_target_"):
            _check_value(key, text, _named(key, keys, groups), multirun)
    _check_environment(typed, name, conf, groups, multirun)
    missing = [key.name for key in keys if key.default in ("(needed)", "???") and "." not in key.name and key.name not in typed]
    if missing and not any(word in _FLAGS_OF_ONE for word in words):
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{', '.join(missing)} {verb} not given; type {' '.join(f'{key}=...' for key in missing)}")


def meant(text: str, known: Sequence[str]) -> str:
    """Return a suggestion for the end of an error: one of the names that the error allows, or one of the keys."""
    refused = re.match(r"(\S+) is no key of", text) or re.search(r"'([^']+)'.*\ballowed(?: are)?:? ?(.+)$", text)
    if refused is None:
        return ""
    allowed = known if refused.re.groups == 1 else [name.strip("'") for name in re.split(", | or ", refused[2]) if " " not in name]
    close = [name for name in get_close_matches(refused[1], allowed, 1) if name != refused[1]]
    return f"; did you mean {close[0]}?" if close else ""


def _typed(words: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield key and value of each argument; refuse other forms."""
    left = iter(words)
    for word in left:
        if word in _FLAGS_OF_ONE:
            next(left, None)
        elif word.startswith("-") and word.partition("=")[0] not in _FLAGS | _FLAGS_OF_ONE:
            name, is_given, value = word.lstrip("-").replace("-", "_").partition("=")
            close = get_close_matches(name, known, 1)
            meaning = f"type {close[0]}={value if is_given else _next_value(left)}" if close else "--help lists the keys"
            raise ValueError(f"{word} is no option; arguments are key=value: {meaning}")
        elif found := _KEY.fullmatch(word):
            yield found[1], found[2]
        elif not word.startswith(("-", "~")):
            close = get_close_matches(word, known, 1)
            meaning = f": type {close[0]}={_next_value(left)}" if close else "; --help lists the keys"
            raise ValueError(f"{word} is no argument of the form key=value{meaning}")


def _next_value(left: Iterator[str]) -> str:
    following = next(left, "...")
    return "..." if following.startswith("-") or "=" in following else following


def _named(key: str, keys: Sequence[Key], groups: Any) -> list[Key]:
    """Return the declared keys of a name, one for each choice of a config; none if any name is allowed there."""
    if found := [one for one in keys if one.name == key]:
        return found
    if below := [one for one in keys if one.name.endswith(".KEY") and key.startswith(one.name[:-3])]:
        return [one for one in below if "." not in key[len(one.name) - 3 :]]
    if any(key.startswith(f"{group}.") and not any(one.name.startswith(f"{group}.") for one in keys) for group in groups):
        return []
    raise ValueError(f"{key} is no key of this command; --help lists those that are")


def _check_value(key: str, text: str, declared: Sequence[Key], multirun: bool) -> None:
    kinds = [_kind(one.tree, one.annotation) for one in declared if one.annotation is not None]
    if None in kinds or not kinds:
        return
    is_below = declared[0].name.endswith(".KEY")
    for given in _values(text, multirun):
        value = [given] if is_below and isinstance(given, str) else given  # one, in place of a list of one
        refused = [error for kind in kinds for error in [_refusal(kind, value, key)] if error]
        if len(refused) == len(kinds):
            raise ValueError(refused[0])


def _refusal(kind: Any, value: Any, key: str) -> str | None:
    if isinstance(value, float) and value.is_integer() and _refusal(kind, int(value), key) is None:
        return None
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError as error:
        return refusals(error, key)
    return None


def _kind(tree: ast.Module, annotation: ast.expr) -> Any:
    """Return the type that an annotation stands for; None if its modules would have to be imported."""
    try:
        return eval(compile(ast.Expression(annotation), "annotation", "eval"), {}, _Names(tree))
    except (NameError, TypeError, AttributeError):
        return None


class _Names(dict[str, Any]):
    """The names of a module, read from its source and from light modules."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self._tree = tree

    def __missing__(self, name: str) -> Any:
        for one in self._tree.body:
            if isinstance(one, ast.Import | ast.ImportFrom) and name in (each.asname or each.name for each in one.names):
                return self._imported(one, name)
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == name and (kind := _kind(self._tree, one.value)):
                return kind
        raise KeyError(name)

    def _imported(self, statement: ast.Import | ast.ImportFrom, name: str) -> Any:
        module = name if isinstance(statement, ast.Import) else str(statement.module)
        if module in _LIGHT:
            imported = importlib.import_module(module)
            return imported if isinstance(statement, ast.Import) else getattr(imported, name)
        if module.startswith(FIRST_PARTY) and (kind := _kind(tree_of(module), ast.parse(name, mode="eval").body)):
            return kind
        raise KeyError(name)


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


def _check_environment(typed: dict[str, str], name: str, conf: str, groups: dict[str, list[str]], multirun: bool) -> None:
    """Check the id of an environment and the names of its arguments."""
    group = next((one for one in groups if one.partition("@")[0] == "env"), None)
    prefix = group.rpartition("@")[2] if group else ""
    asked = [key for key in typed if group and key.startswith(f"{prefix}.")]
    if not group or not asked:
        return
    import gymnasium  # imported here: only these keys need it, and most errors are found without it

    import vcgym.envs  # noqa: F401  (registers the ids)

    chosen = typed.get(group) or next(choice for one, _, choice in groups_of(name, conf) if one == group)
    written = yaml.safe_load((place_of(conf) / "env" / f"{chosen}.yaml").read_text(encoding="utf-8"))
    env_id = typed.get(f"{prefix}.id", written["id"])
    if ":" in env_id:
        return
    if env_id not in gymnasium.registry:
        own = sorted(one for one in gymnasium.registry if one.startswith("vcgym/"))
        raise ValueError(f"{prefix}.id is {env_id!r}; allowed: {', '.join(own)}, or module:id")
    entry = gymnasium.registry[env_id].vector_entry_point
    if not isinstance(entry, str) or not entry.startswith(FIRST_PARTY):
        return
    module, _, kind = entry.partition(":")
    arguments = arguments_of(tree_of(module), ast.parse(kind, mode="eval").body)
    for key in asked:
        option, is_option = key.removeprefix(f"{prefix}.options.").partition(".")[0], key.startswith(f"{prefix}.options.")
        if is_option and option not in arguments.keys() - SET_BY_VCGYM:
            raise ValueError(f"{env_id} has no argument {option!r}; allowed: {', '.join(sorted(arguments.keys() - SET_BY_VCGYM))}")
        if key == f"{prefix}.options.{option}" and option in arguments:
            _check_value(key, typed[key], [arguments[option]], multirun)


def arguments_of(tree: ast.Module, kind: ast.expr) -> dict[str, Key]:
    """Return the arguments with defaults of an environment, as `vcgym.envs.faces.vector.settings.arguments_of` does."""
    found: dict[str, Key] = {}
    for where, node in configs_of(tree, kind):
        takes_others = True
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                takes_others = one.args.kwarg is not None
                given = one.args.args[len(one.args.args) - len(one.args.defaults) :]
                given += [each for each, default in zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True) if default]
                found |= {each.arg: Key(each.arg, "", "", "", where, each.annotation) for each in given}
            elif isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "settings":
                found |= {name: key for group in configs_of(where, one.value) for name, key in _settings(*group).items()}
        for base in node.bases if takes_others else ():
            found = arguments_of(where, base) | found
    return found


def _settings(tree: ast.Module, node: ast.ClassDef) -> dict[str, Key]:
    """Return the fields of a group of settings and of its bases."""
    above = {name: key for base in node.bases for one in configs_of(tree, base) for name, key in _settings(*one).items()}
    return above | {field.target.id: Key(field.target.id, "", "", "", tree, field.annotation) for field in fields_of(node)}
