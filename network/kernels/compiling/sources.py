"""Hashes of code: of syntax trees without docstrings, over the import closure of a module.

Comments, docstrings and line breaks change no hash. The import closure of a module contains every module that it loads, including imports
inside functions. Modules of the standard library and of installed packages are excluded unless they are requested.
"""

import ast
import hashlib
import json
import os
import pwd
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import get_ident
from typing import Any, NamedTuple

from numba import types

_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))


def _read_package() -> dict[str, bytes]:
    package = Path(__file__).parents[3]  # not resolved: in a checkout its folders are links to the rooms
    found = {}
    for room in sorted(package.glob("*/__init__.py")):
        for path in room.parent.rglob("*.py"):
            parts = path.relative_to(package.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_bytes()
    return found


SOURCES = _read_package()
"""Content of modules by name; those of vcgym are read at process start, because files may be edited while the old code runs."""


def reread(module: str, path: Path) -> None:
    """Read a module again. Modules call it while they execute, so that an edited and reloaded module is hashed with its new content."""
    content = path.read_bytes() if path.is_file() else None
    if content is not None and SOURCES.get(module) != content:
        SOURCES[module] = content
        code_hash.cache_clear()


class SourceFile(NamedTuple):
    """The content of a source file."""

    digest: str  # SHA-256 of the syntax tree without docstrings, in hex
    imports: tuple[str, ...]  # dotted names of imported modules and of imported attributes of modules


def cache_home() -> Path:
    """Return the cache folder, which may be deleted at any time: NUMBA_CACHE_DIR, else vcgym in the user's cache folder.

    That is XDG_CACHE_HOME, else .cache in HOME, else in the home of the user's account; a value that is empty or relative counts as unset
    (XDG Base Directory Specification), as what is loaded from there must not depend on the working folder. A user without a home keeps
    nothing.
    """
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    cache, home = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME"))
    if os.path.isabs(cache):
        return Path(cache) / "vcgym"
    if not os.path.isabs(home):
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = os.devnull  # no folder can be made in it
    return Path(home) / ".cache" / "vcgym"


def modules_of(kind: Any) -> Iterator[str]:
    """Yield the modules of all classes in a numba type, or in a tuple of types."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class.__module__
    for part in vars(kind).values() if isinstance(kind, types.Type) else kind:
        if isinstance(part, types.Type | tuple):
            yield from modules_of(part)


@cache
def code_hash(modules: frozenset[str]) -> str:
    """Return sixteen hex digits: a hash of the sources of `modules` and of their imports, direct or indirect.

    Raises:
        LookupError: one of `modules` has no source file.
    """
    digest = hashlib.sha256()
    for name, source in sorted(closure(modules).items()):
        digest.update(f"{name} {source.digest}\n".encode())
    return digest.hexdigest()[:16]


def closure(modules: Iterable[str]) -> dict[str, SourceFile]:
    """Return the sources of `modules` and of their imports, direct or indirect, by module name.

    Raises:
        LookupError: one of `modules` has no source file.
    """
    roots = set(modules)
    for name in roots:
        if _read(name) is None:
            raise LookupError(f"module {name} has no source file to be hashed; allowed: modules that stand in files")
    packages = {name.partition(".")[0] for name in roots}
    found: dict[str, SourceFile] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        package = name.partition(".")[0]
        if name in found or not (package == "vcgym" or package in packages or not _is_installed(package)):
            continue
        content = _read(name)
        if content is not None:
            found[name] = _parsed(content, name)
            waiting += found[name].imports
        if name != package:
            waiting.append(name.rpartition(".")[0])  # its __init__ runs first
    return found


def _read(module: str) -> bytes | None:
    """Return the content of a module; None if it has no source file or does not exist."""
    if module not in SOURCES and module.partition(".")[0] != "vcgym":
        path = _file(module)
        if path is not None:
            SOURCES[module] = path.read_bytes()
    return SOURCES.get(module)


@cache
def _is_installed(package: str) -> bool:
    path = _file(package)
    return path is None or "site-packages" in path.parts or str(path).startswith(_INSTALLED)


def _file(module: str) -> Path | None:
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") and Path(origin).is_file() else None


@cache
def _parsed(content: bytes, module: str) -> SourceFile:
    """Parse a module. The result is cached by the hash of the content, since parsing takes far longer than reading."""
    name = hashlib.sha256(repr((sys.version, module)).encode() + content).hexdigest()
    path = cache_home() / "sources" / name[:2] / name
    try:
        digest, imports = json.loads(path.read_bytes())
    except (OSError, ValueError, TypeError):
        tree = _without_docstrings(ast.parse(content))
        digest, imports = hashlib.sha256(ast.dump(tree).encode()).hexdigest(), sorted(set(_imports(tree, module)))
        _replace(path, json.dumps([digest, imports]))
    return SourceFile(digest, tuple(imports))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return tree


def _is_text(node: ast.stmt) -> bool:
    """Return True for a docstring and for a string that documents the statement above it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.Module, module: str) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            within = (module.rsplit(".", up)[0] for up in (node.level, node.level - 1)) if node.level else ("",)  # a module, or a package
            for above in within:
                origin = ".".join(filter(None, (above, node.module)))
                yield origin
                yield from (f"{origin}.{alias.name}" for alias in node.names)


def _replace(path: Path, text: str) -> None:
    """Write a file atomically, if possible."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(path)
    with suppress(OSError):
        draft.unlink(missing_ok=True)
