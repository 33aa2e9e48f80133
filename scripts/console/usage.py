"""Help of a command: its purpose, and each key with type, range, default and meaning.

It is read from the sources of the command and of its config, without importing them.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_HOME = Path(__file__).parents[2]
_FIRST_PARTY = ("vcgym.", "lab.")
_WORDS = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "Any": "value"}
_WORDS |= {"AbsolutePath": "path", "Path": "path"}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_FEW = 13  # maximum number of keys of a nested config that are listed with the outer one


def summary(module: str) -> str:
    """Return the purpose of a command in one sentence."""
    return _doc(_tree(module)).partition(":")[2].split("\n")[0].split(". ")[0].strip().rstrip(".,;:")


def usage(name: str, module: str, conf: str, title: str) -> str:
    """Return the help of a command.

    Args:
        name: name of its YAML.
        module: dotted name of the module of the command.
        conf: package of the YAML.
        title: what a user types.
    """
    tree, folder = _tree(module), _place(conf)
    kind = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "command").args[1]
    yaml_keys = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    keys = [_entry(*key) for key in _keys(_class(module, ast.unparse(kind)), yaml_keys)]
    groups = [_entry(*group) for group in _groups(yaml_keys, folder)]
    parts = [_doc(tree), f"  {title} key=value ...", "Keys:\n" + "\n".join(keys), *(["Choices:\n" + "\n".join(groups)] if groups else [])]
    return "\n\n".join(parts) + f"\n\n{title} -m key=1,2 runs once for each value. --cfg job prints the config as it is composed.\n"


def keys_of(name: str, module: str, conf: str) -> list[str]:
    """Return the names of the keys that `usage` lists."""
    return re.findall(r"^  ([\w.]+)=", usage(name, module, conf, ""), re.MULTILINE)


def _entry(name: str, allowed: str, default: str, meaning: str) -> str:
    head, meaning = f"  {name}={default}  [{allowed}]", re.sub(r"\bNone\b", "null", meaning)
    return "\n".join([head, *textwrap.wrap(meaning, 110, initial_indent="      ", subsequent_indent="      ")])


def _groups(yaml_keys: dict[str, Any], folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield the config groups of a command."""
    for default in yaml_keys.get("defaults", []):
        if not isinstance(default, dict) or next(iter(default)).startswith("override"):
            continue
        ((group, choice),) = default.items()
        names = sorted(path.stem for path in (folder / group.partition("@")[0]).glob("*.yaml"))
        yield group, ", ".join(names), str(choice or "null"), ""


def _keys(found: tuple[ast.Module, ast.ClassDef], yaml_keys: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield name, allowed values, default and meaning of each key of a config."""
    tree, node = found
    for base in node.bases:
        if isinstance(base, ast.Name) and (above := _config(tree, base)):
            yield from _keys(above, yaml_keys, prefix)
    meanings = dict(re.findall(r"^    (\w+): (.+?)(?=^    \w+: |\Z|^\w)", _doc(node) + "\n", re.MULTILINE | re.DOTALL))
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name) or "ClassVar" in ast.unparse(field.annotation):
            continue
        name = field.target.id
        meaning = " ".join(meanings.get(name, "").split())
        inner = next((_config(tree, one) for one in ast.walk(field.annotation) if isinstance(one, ast.Name) and _config(tree, one)), None)
        fields = [one for one in inner[1].body if isinstance(one, ast.AnnAssign)] if inner else []
        if inner and len(fields) <= _FEW and "dict" not in ast.unparse(field.annotation):
            below = yaml_keys.get(name)
            yield from _keys(inner, below if isinstance(below, dict) else {}, f"{prefix}{name}.")
        elif inner:
            yield f"{prefix}{name}.KEY", f"keys of {inner[1].name}", "...", meaning or _doc(inner[1]).split("\n")[0]
        else:
            default = yaml_keys[name] if name in yaml_keys else _default(field.value)
            yield f"{prefix}{name}", _allowed(tree, field.annotation), "null" if default is None else str(default), meaning or (
                _doc(node).split("\n")[0] if prefix else ""
            )  # fmt: skip


def _allowed(tree: ast.Module, node: ast.expr) -> str:
    """Return a type as text."""
    if isinstance(node, ast.BinOp):
        return f"{_allowed(tree, node.left)} or {_allowed(tree, node.right)}"
    if isinstance(node, ast.Constant):
        return "null" if node.value is None else str(node.value)
    if isinstance(node, ast.Name) and (alias := _alias(tree, node.id)) is not None:
        return _allowed(tree, alias)
    if not isinstance(node, ast.Subscript):
        return _WORDS.get(ast.unparse(node), ast.unparse(node))
    name_of, inside = ast.unparse(node.value), node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name_of == "Annotated":
        bounds = [f"{_BOUNDS[one.arg]} {ast.unparse(one.value)}" for one in getattr(inside[1], "keywords", []) if one.arg in _BOUNDS]
        return " ".join([_allowed(tree, inside[0]), ", ".join(bounds)]).strip()
    if name_of == "Literal":
        return ", ".join(_allowed(tree, one) for one in inside)
    return f"mapping to {_allowed(tree, inside[1])}" if name_of == "dict" else f"list of {_allowed(tree, inside[0])}"


def _default(value: ast.expr | None) -> Any:
    if isinstance(value, ast.Call):
        found = [one.value for one in value.keywords if one.arg == "default"] or value.args
        return _default(found[0]) if found else "..."
    return "(needed)" if value is None else ast.literal_eval(value) if isinstance(value, ast.Constant | ast.List | ast.Dict) else "..."


def _alias(tree: ast.Module, name: str) -> ast.expr | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return node.value if isinstance(node.value, ast.Subscript | ast.BinOp) else None
    return None


def _config(tree: ast.Module, node: ast.Name) -> tuple[ast.Module, ast.ClassDef] | None:
    """Return the config class with a name in a module, and the module that defines it; None for any other name."""
    for one in tree.body:
        if isinstance(one, ast.ClassDef) and one.name == node.id:
            return tree, one
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == node.id and isinstance(one.value, ast.BinOp):
            return _config(tree, ast.Name(ast.unparse(one.value).split(" | ")[0]))  # for a union of configs, the default
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith(_FIRST_PARTY) and node.id in (n.name for n in one.names):
            return _config(_tree(str(one.module)), node)
    return None


def _class(module: str, name: str) -> tuple[ast.Module, ast.ClassDef]:
    found = _config(_tree(module), ast.Name(name))
    assert found is not None
    return found


def _tree(module: str) -> ast.Module:
    return ast.parse(_place(module).with_suffix(".py").read_text(encoding="utf-8"))


def _place(name: str) -> Path:
    """Return the path of a module or package, which is not imported; vcgym is a namespace without a folder of its own."""
    return _HOME.joinpath(*name.removeprefix("vcgym.").split("."))


def _doc(node: ast.Module | ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""
