"""Help of a command: its purpose, and each key with type, range, default and meaning, from the fields of its config.

Completion for bash and zsh is one static script of the same keys, so that a shell completes without starting Python.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

_HOME = Path(__file__).parents[3]
_WORDS = {int: "integer", float: "number", str: "text", bool: "true or false", Any: "value", Path: "path", NoneType: "null"}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_FEW = 13  # maximum number of keys of a nested config that are listed with the outer one
_SHORT = 120  # characters of a default; longer ones are not shown
NEEDED = "(needed)"
_SCRIPT = """\
# {program}: commands, keys and choices. Made by `{program} --completion`.
[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
_{program}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} line=${{COMP_LINE:0:COMP_POINT}} words=
    line=${{line##* }}
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{commands}'
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$line"))
    if [[ $line == *=* && $COMP_WORDBREAKS == *=* ]]; then
        COMPREPLY=("${{COMPREPLY[@]#"${{line%%=*}}="}}")
    fi
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}}
complete -F _{program} {program}
"""


class Key(NamedTuple):
    """A key of a command.

    Attributes:
        name: what a user types; ends in `.KEY` if a mapping or a whole config stands below it.
        kind: its type, with `.KEY` that of each value below; None: anything.
        allowed: its type and range as text.
        default: its default as text.
        meaning: what it means.
    """

    name: str
    kind: Any
    allowed: str
    default: str
    meaning: str


def listing(kind: type[BaseModel], name: str, conf: str) -> str:
    """Return what the help of a command says of the keys of its config, a class, and of the groups of its YAML `name` in `conf`."""
    keys = [_entry(key.name, key.allowed, key.default, key.meaning) for key in keys_of(kind, yaml_of(name, conf))]
    groups = [_entry(group, ", ".join(names), choice, "") for group, names, choice in groups_of(name, conf)]
    return "\n".join(["Keys:", *keys, *(["", "Choices:", *groups] if groups else [])])


def keys_of(kind: type[BaseModel], written: Mapping[str, Any], deep: bool = False, within: str = "") -> Iterator[Key]:
    """Yield the keys of a config as `usage` lists them.

    Args:
        kind: class of the config.
        written: its YAML, whose values are defaults in place of those of the class.
        deep: also those of large nested configs and of each choice of a config.
        within: what precedes the names.
    """
    meanings = _meanings(kind)
    for field, info in kind.model_fields.items():
        name, of_field, meaning = f"{within}{field}", info.rebuild_annotation(), meanings.get(field, "")
        inner, values = configs_of(of_field), _values_of(of_field)
        if inner and (deep or len(inner[0].model_fields) <= _FEW):
            below = written.get(field)
            for one in inner if deep else inner[:1]:
                yield from keys_of(one, below if isinstance(below, dict) else {}, deep, f"{name}.")
        elif inner or (values and deep):
            of = inner[0].__name__ if inner else kind.__name__
            yield Key(f"{name}.KEY", values, f"keys of {of}", "...", meaning)
        if deep or not inner:
            shown = _shown(written[field] if field in written else default_of(info))
            yield Key(name, of_field, allowed(of_field), shown, meaning or (_first_line(kind) if within else ""))


def groups_of(name: str, conf: str, places: Sequence[Path] = ()) -> list[tuple[str, list[str], str]]:
    """Return the config groups of a command: what a user types, the choices in `places` (none: those of `conf`), and the default."""
    found = []
    for default in yaml_of(name, conf).get("defaults", []):
        if isinstance(default, dict) and not next(iter(default)).startswith("override"):
            ((group, choice),) = default.items()
            found.append((group, choices_of(group, places or [place_of(conf)]), str(choice or "null")))
    return found


def choices_of(group: str, places: Sequence[Path]) -> list[str]:
    """Return the choices of a config group that the folders of a search path have."""
    folders = [place / group.partition("@")[0] for place in places]
    return sorted({file.relative_to(folder).with_suffix("").as_posix() for folder in folders for file in folder.rglob("*.yaml")})


def configs_of(kind: Any) -> list[type[BaseModel]]:
    """Return the classes of configs that a type allows, but for those in lists and mappings."""
    if get_origin(kind) in (Union, UnionType):
        return [found for one in get_args(kind) for found in configs_of(one)]
    if get_origin(kind) is Annotated:
        return configs_of(get_args(kind)[0])
    return [kind] if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _values_of(kind: Any) -> Any:
    """Return the type of the values of a mapping; None: it is no mapping."""
    if get_origin(kind) is Annotated:
        return _values_of(get_args(kind)[0])
    return get_args(kind)[1] if get_origin(kind) is dict else None


def allowed(kind: Any) -> str:
    """Return a type and its range as text."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = [limit for one in inside[1:] for limit in (one.metadata if isinstance(one, FieldInfo) else [one])]
        bounds = [f"{word} {getattr(limit, name):,}" for limit in limits for name, word in _BOUNDS.items() if hasattr(limit, name)]
        return f"{allowed(inside[0])} {', '.join(bounds)}".strip()
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(allowed(one) for one in inside))
    if origin is Literal:
        return ", ".join(map(str, inside))
    if inside:
        return f"mapping to {allowed(inside[1])}" if origin is dict else f"list of {allowed(inside[0])}"
    return _WORDS.get(kind) or kind.__name__


def default_of(info: FieldInfo) -> Any:
    """Return the default of a field: NEEDED if it has none, None if it follows from other keys, "..." if it is a config."""
    if info.is_required():
        return NEEDED
    if info.default_factory_takes_validated_data:
        return None
    is_config = isinstance(info.default_factory, type) and issubclass(info.default_factory, BaseModel)
    return "..." if is_config else info.get_default(call_default_factory=True)


def _shown(default: Any) -> str:
    written = TypeAdapter(Any).dump_python(default, mode="json")
    text = "null" if written is None else str(written)
    return text if len(text) <= _SHORT else "..."


def _meanings(kind: type[BaseModel]) -> dict[str, str]:
    """Return what the docstrings of a config and of its bases say of each field."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if issubclass(one, BaseModel):
            doc = inspect.cleandoc(one.__doc__ or "") + "\n"
            said = re.findall(r"^    (\w+): (.+?)(?=^    \w+: |\Z|^\w)", doc, re.MULTILINE | re.DOTALL)
            found |= {field: " ".join(meaning.split()) for field, meaning in said}
    return found


def _first_line(kind: type[BaseModel]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n")[0]


def _entry(name: str, allowed: str, default: str, meaning: str) -> str:
    head, meaning = f"  {name}={default}  [{allowed}]", re.sub(r"\bNone\b", "null", meaning)
    return "\n".join([head, *textwrap.wrap(meaning, 110, initial_indent="      ", subsequent_indent="      ")])


def yaml_of(name: str, conf: str) -> dict[str, Any]:
    """Return the YAML of a command; nothing if the defaults of its config say all, also where a table has its name."""
    file = place_of(conf) / f"{name}.yaml"
    written = dict(yaml.safe_load(file.read_text(encoding="utf-8"))) if file.is_file() else {}
    return written if "defaults" in written else {}


def place_of(name: str) -> Path:
    """Return the path of a package, which is not imported."""
    return _HOME.joinpath(*name.split("."))


def completion(program: str, commands: Mapping[str, tuple[Iterable[Key], str]], conf: str) -> str:
    """Return the script by which a shell completes a program.

    Bash reads it from ~/.local/share/bash-completion/completions/PROGRAM, zsh as part of ~/.zshrc. `commands` are the keys of each
    command and the name of its YAML in the package `conf`.
    """
    cases = [f"            {name}) words='{' '.join(_words(keys, yaml, conf))}' ;;" for name, (keys, yaml) in commands.items()]
    return _SCRIPT.format(program=program, commands=" ".join(commands), cases="\n".join(cases))


def _words(keys: Iterable[Key], yaml: str, conf: str) -> list[str]:
    """Return the keys of a command, and each choice of those that have a few."""
    words = ["--help"]
    for key in keys:
        if not key.name.endswith(".KEY"):
            choices = re.findall(r"[\w.-]+", key.allowed) if re.fullmatch(r"[\w.-]+(?:, [\w.-]+)+", key.allowed) else []
            words += [f"{key.name}=", *(f"{key.name}={choice}" for choice in choices)]
    for group, names, _ in groups_of(yaml, conf):
        words += [f"{group}={choice}" for choice in names]
    return list(dict.fromkeys(words))
