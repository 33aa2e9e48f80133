"""Help of a command: its purpose, and each key with type, range, default and meaning.

It is read from the sources of the command and of its config, without importing them.
"""

import ast
import functools
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_HOME = Path(__file__).parents[3]
FIRST_PARTY = ("vcgym.", "lab.")
_WORDS = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "Any": "value"}
_WORDS |= {"AbsolutePath": "path", "Path": "path"}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_FEW = 13  # maximum number of keys of a nested config that are listed with the outer one


class Key(NamedTuple):
    """A key of a command.

    Attributes:
        name: what a user types; ends in `.KEY` if a whole config stands below it.
        allowed: its type and range as text.
        default: its default as text.
        meaning: what it means.
        tree: module that declares it.
        annotation: its declared type, with `.KEY` that of each value below; None: anything.
    """

    name: str
    allowed: str
    default: str
    meaning: str
    tree: ast.Module
    annotation: ast.expr | None


def summary(module: str) -> str:
    """Return the purpose of a command in one sentence."""
    return _doc(tree_of(module)).partition(":")[2].split("\n")[0].split(". ")[0].strip().rstrip(".,;:")


def usage(name: str, module: str, conf: str, title: str) -> str:
    """Return the help of a command.

    Args:
        name: name of its YAML.
        module: dotted name of the module of the command.
        conf: package of the YAML.
        title: what a user types.
    """
    keys = [_entry(key.name, key.allowed, key.default, key.meaning) for key in keys_of(name, module, conf)]
    groups = [_entry(group, ", ".join(names), choice, "") for group, names, choice in groups_of(name, conf)]
    choices = ["Choices:\n" + "\n".join(groups)] if groups else []
    parts = [_doc(tree_of(module)), f"  {title} key=value ...", "Keys:\n" + "\n".join(keys), *choices]
    return "\n\n".join(parts) + f"\n\n{title} -m key=1,2 runs once for each value. --cfg job prints the config as it is composed.\n"


def keys_of(name: str, module: str, conf: str, deep: bool = False) -> list[Key]:
    """Return the keys of a command as `usage` lists them; `deep`: also those of large nested configs and of each choice of a config."""
    tree = tree_of(module)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    (kind,) = (node.args[1] for node in calls if getattr(node.func, "id", "") == "command")
    return list(_keys(*next(configs_of(tree, kind)), yaml_of(name, conf), "", deep))


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


def has_schema(name: str, conf: str) -> bool:
    """Return True if the YAML of a command begins with the schema of a typed config."""
    return any("_schema" in str(default) for default in yaml_of(name, conf).get("defaults", []))


def _entry(name: str, allowed: str, default: str, meaning: str) -> str:
    head, meaning = f"  {name}={default}  [{allowed}]", re.sub(r"\bNone\b", "null", meaning)
    return "\n".join([head, *textwrap.wrap(meaning, 110, initial_indent="      ", subsequent_indent="      ")])


def _keys(tree: ast.Module, node: ast.ClassDef, yaml_keys: dict[str, Any], prefix: str, deep: bool) -> Iterator[Key]:
    """Yield the keys of a config."""
    for base in node.bases:
        for above in configs_of(tree, base):
            yield from _keys(*above, yaml_keys, prefix, deep)
    meanings = dict(re.findall(r"^    (\w+): (.+?)(?=^    \w+: |\Z|^\w)", _doc(node) + "\n", re.MULTILINE | re.DOTALL))
    for field in fields_of(node):
        name = f"{prefix}{field.target.id}"
        meaning = " ".join(meanings.get(field.target.id, "").split())
        inner = [] if "list[" in ast.unparse(field.annotation) else list(configs_of(tree, field.annotation))
        is_open = "dict" in ast.unparse(field.annotation)
        if inner and not is_open and (deep or len(fields_of(inner[0][1])) <= _FEW):
            below = yaml_keys.get(field.target.id)
            for one in inner if deep else inner[:1]:
                yield from _keys(*one, below if isinstance(below, dict) else {}, f"{name}.", deep)
        elif inner or (is_open and deep):
            kind = inner[0][1] if inner else node
            value = field.annotation.slice.elts[1] if is_open and not inner else None
            yield Key(f"{name}.KEY", f"keys of {kind.name}", "...", meaning or _doc(kind).split("\n")[0], tree, value)
        if deep or not inner:
            default = yaml_keys[field.target.id] if field.target.id in yaml_keys else _default(tree, field.value)
            meaning = meaning or (_doc(node).split("\n")[0] if prefix else "")
            shown = "null" if default is None else str(default)
            yield Key(name, _allowed(tree, field.annotation), shown, meaning, tree, field.annotation)


def fields_of(node: ast.ClassDef) -> list[Any]:
    """Return the fields that a class declares."""
    declared = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return [one for one in declared if "ClassVar" not in ast.unparse(one.annotation)]


def _allowed(tree: ast.Module, node: ast.expr) -> str:
    """Return a type as text."""
    if isinstance(node, ast.BinOp):
        return f"{_allowed(tree, node.left)} or {_allowed(tree, node.right)}"
    if isinstance(node, ast.Constant):
        return "null" if node.value is None else str(node.value)
    if isinstance(node, ast.Name) and node.id not in _WORDS and (alias := found_in(tree, node.id)) and isinstance(alias[1], ast.expr):
        return _allowed(alias[0], alias[1])
    if not isinstance(node, ast.Subscript):
        return _WORDS.get(ast.unparse(node), ast.unparse(node))
    name_of, inside = ast.unparse(node.value), node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name_of == "Annotated":
        bounds = [f"{_BOUNDS[one.arg]} {ast.unparse(one.value)}" for one in getattr(inside[1], "keywords", []) if one.arg in _BOUNDS]
        return " ".join([_allowed(tree, inside[0]), ", ".join(bounds)]).strip()
    if name_of == "Literal":
        return ", ".join(_allowed(tree, one) for one in inside)
    return f"mapping to {_allowed(tree, inside[1])}" if name_of == "dict" else f"list of {_allowed(tree, inside[0])}"


def _default(tree: ast.Module, value: ast.expr | None) -> Any:
    """Return a default, also by the name of a value; "..." if only its execution tells."""
    if isinstance(value, ast.Call):
        found = [one.value for one in value.keywords if one.arg == "default"] or value.args
        return _default(tree, found[0]) if found else "..."
    if isinstance(value, ast.Name) and (named := found_in(tree, value.id)) and isinstance(named[1], ast.expr):
        return _default(named[0], named[1])
    if isinstance(value, ast.List):
        return [_default(tree, one) for one in value.elts]
    return "(needed)" if value is None else ast.literal_eval(value) if isinstance(value, ast.Constant | ast.Dict) else "..."


def found_in(tree: ast.Module, name: str) -> tuple[ast.Module, ast.ClassDef | ast.expr] | None:
    """Return the class or the value with a name in a module, also one that it imports from here, and the module that defines it."""
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and one.name == name:
            return tree, one
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == name:
            return tree, one.value
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith(FIRST_PARTY) and name in (n.name for n in one.names):
            return found_in(tree_of(str(one.module)), name)
    return None


def configs_of(tree: ast.Module, node: ast.expr) -> Iterator[tuple[ast.Module, ast.ClassDef]]:
    """Yield the classes that an annotation names, also through the name of a union, and the modules that define them."""
    named = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    for one in sorted(named, key=lambda one: one.col_offset):
        if found := found_in(tree, one.id):
            if isinstance(found[1], ast.ClassDef):
                yield found[0], found[1]
            elif isinstance(found[1], ast.BinOp):
                yield from configs_of(found[0], found[1])


@functools.cache
def tree_of(module: str) -> ast.Module:
    """Return the source of a module."""
    return ast.parse(place_of(module).with_suffix(".py").read_text(encoding="utf-8"))


def yaml_of(name: str, conf: str) -> dict[str, Any]:
    """Return the YAML of a command; nothing if the defaults of its config say all."""
    file = place_of(conf) / f"{name}.yaml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def place_of(name: str) -> Path:
    """Return the path of a module or package, which is not imported."""
    return _HOME.joinpath(*name.split("."))


def _doc(node: ast.Module | ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""
