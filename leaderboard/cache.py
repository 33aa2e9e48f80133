"""The only cache of results: a computed result is stored in a file whose name is a hash of all its dependencies.

The name depends on a complete description of the arguments and on code: the sources of the computing module, of the modules of all classes
and functions among the arguments, and of everything that these import (`vcgym.network.kernels.compiling.sources`). Compiled loops dispatch
on the type of a class without importing its module; therefore that module counts, and so does the module of a plug-in, which is imported by
name. Files are written atomically, so an existing file is complete.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.leaderboard.results.files import MAX_BYTES
from vcgym.network.kernels.compiling.sources import code_hash
from vcgym.network.kernels.plugins import plugin_modules
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain, replace_file

FILE_NAME = r"[0-9a-f]{32}\.parquet"
"""Pattern of the names that `file_name` makes."""


def cached(folder: Path, key: tuple[Any, ...], make: Callable[[], pa.Table]) -> pa.Table:
    """Return the table that `make` computes, from its file in `folder` if it exists.

    Args:
        folder: folder of the files; created if missing.
        key: all arguments that determine the content, of types that `canonical` accepts.
        make: function that computes the table; the code of its module counts.

    Raises:
        ValueError: the file is not complete.
        TypeError: an argument that cannot be described.
    """
    path = folder / file_name(key, make.__module__)
    if not path.is_file():
        replace_file(path, to_bytes(make()))
    return load(path)


def cached_document(folder: Path, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return the JSON value that `make` computes, from its file in `folder` if it exists; see `cached`."""

    def to_table() -> pa.Table:
        return pa.table({"document": [json.dumps(make())]})

    to_table.__module__ = make.__module__  # the module whose code counts
    return json.loads(cached(folder, key, to_table)["document"][0].as_py())


def file_name(key: tuple[Any, ...], made_by: str) -> str:
    """Return the name of the file of a result.

    Args:
        key: all arguments that determine the content, of types that `canonical` accepts.
        made_by: name of the computing module.

    Raises:
        TypeError: an argument cannot be described.
        LookupError: a module has no source file.
    """
    code = code_hash(frozenset([made_by, *_modules(key)]))
    versions = platform.python_version(), np.__version__, numba.__version__
    return f"{hashlib.sha256(repr((versions, code, canonical(key))).encode()).hexdigest()[:32]}.parquet"


def to_bytes(table: pa.Table) -> bytes:
    """Return the content of a table's file."""
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def load(path: Path) -> pa.Table:
    """Return the table in a file.

    Raises:
        ValueError: the file is not complete.
    """
    try:
        return pq.read_table(pa.BufferReader(read_plain(path, MAX_BYTES)))
    except (OSError, DataError, pa.ArrowException) as error:
        raise ValueError(f"{path} is not a complete cell file; delete it to recompute ({' '.join(str(error).split())})") from error


def canonical(value: Any) -> str:
    """Return a canonical text of a value; two values have the same text if and only if they and their types are equal.

    Classes and functions are represented by module and name, arrays and bytes by their hash.

    Raises:
        TypeError: the type of a value is not supported.
    """
    if isinstance(value, Enum):
        return f"{_named(type(value))}.{value.name}"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    if isinstance(value, bytes):
        return f"bytes {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        layout = value.dtype.descr if value.dtype.names else value.dtype.str
        return f"array {layout} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"{_named(type(value))}({', '.join(map(canonical, value))})"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{_named(type(value))}({', '.join(canonical(getattr(value, field.name)) for field in fields(value))})"
    if isinstance(value, Mapping):
        items = sorted(f"{canonical(key)}: {canonical(one)}" for key, one in value.items())
        return f"{{{', '.join(items)}}}"
    if _stands_in_a_module(value):
        return _named(value)
    raise TypeError(
        f"a result follows from {value!r}; allowed: numbers, texts, bytes, arrays of numbers, tuples, lists and mappings of these, enums, "
        "and classes and functions of a module"
    )


def _stands_in_a_module(value: Any) -> bool:
    return callable(value) and hasattr(value, "__qualname__") and hasattr(value, "__module__") and "<lambda>" not in value.__qualname__


def _named(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _modules(value: Any) -> Iterator[str]:
    """Yield the modules of all classes, functions and named plug-ins in a value."""
    if isinstance(value, str):
        yield from plugin_modules(tuple(sys.path)).get(value, ())
    if isinstance(value, tuple | list):
        parts: Any = value
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else ()
    for part in parts:
        yield from _modules(part)
    owner = value if _stands_in_a_module(value) else type(value)
    if owner.__module__ != "builtins" and not isinstance(value, np.ndarray | np.generic):
        yield owner.__module__
