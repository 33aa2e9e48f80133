"""The project's only decorators for compiled functions, with a disk cache that cannot go stale.

numba keys a cached function by its own file only, so editing a callee, or an implementation selected by type, leaves a stale caller in the
cache. Here the cache folder is named by a hash of all code that can be compiled into it: the import closures of the function's module and
of the modules of all classes among its argument types (`vcgym.network.kernels.compiling.sources`). An implementation selected by type must
be in the module of the type, or in a module that the caller imports. So editing a rule recompiles only the functions that run it, and
editing a comment or a docstring recompiles nothing.

A kernel has two compiled forms, each made when it is first needed: what Python calls, and what other kernels call, which is inlined into
them (`vcgym.network.kernels.compiling.lean_compiler`).
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, TypeVar

import numba
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature

from vcgym.network.kernels.compiling.announcement import announce_compiling
from vcgym.network.kernels.compiling.cache_file import CheckedCacheFile, say_once
from vcgym.network.kernels.compiling.lean_compiler import OPTIONS, load
from vcgym.network.kernels.compiling.sources import cache_home, code_hash, reread

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, cached on disk, releasing the GIL, with IEEE arithmetic (no fastmath).

    A kernel works on memory that its caller owns: it neither allocates nor keeps arrays, so numba need not count references. Counting costs
    an atomic operation per array and call, many times the work on one packet. Kernels are inlined into each other, so none calls itself.
    Several threads may run one kernel on disjoint sessions. With ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.
    """
    return _compile(function, forceinline=True, _nrt=False)


def allocating_kernel(function: F) -> F:
    """Compile as `kernel` does, for a function that allocates arrays or calls one that does."""
    return _compile(function, _nrt=True)


def _compile(function: F, **options: bool) -> F:
    compiled: Any = numba.njit(nogil=True, **options, **OPTIONS)(function)
    if isinstance(compiled, Dispatcher):
        reread(function.__module__, Path(inspect.getfile(function)))
        inlined: Any = numba.njit(nogil=True, no_cpython_wrapper=True, **options, **OPTIONS)(function)
        compiled.get_call_template, compiled.get_overload = inlined.get_call_template, inlined.get_overload
        compiled._cache, inlined._cache = _Cache(function), _Cache(function, "-inlined")
    return compiled


class _Locator(_CacheLocator):
    """Folder and file name of a function's compiled code, independent of time stamps and line numbers."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file, self._function = path, function  # numba names the file in warnings
        self.folder = cache_home() / "kernels"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name identifies the sources

    def get_disambiguator(self) -> str:
        """Return a hash of the byte code, which distinguishes functions of the same name."""
        return hashlib.sha256(_code_text(self._function.__code__, self._function.__doc__).encode()).hexdigest()[:12]


def _code_text(code: CodeType, docstring: str | None) -> str:
    constants = [_code_text(one, None) if isinstance(one, CodeType) else repr(one) for one in code.co_consts if one is not docstring]
    return repr((code.co_code, constants, code.co_names))


class _Implementation(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> CompileResult:
        """Return the compiled function."""
        return load(target_context, payload)


class _Cache(FunctionCache):
    """numba's cache of one function, with a folder per overload that is named by the hash of its sources."""

    _impl_class = _Implementation

    def __init__(self, function: Any, suffix: str = "") -> None:
        super().__init__(function)
        self._suffix = suffix

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context) if self._entered(sig) else None
        if found is None:
            announce_compiling()
        return found

    def _save_overload(self, sig: Any, data: Any) -> None:
        try:
            if self._entered(sig):
                super()._save_overload(sig, data)
        except OSError as error:  # no folder can be made
            say_once(f"is not kept: {error.strerror or error}")

    def _entered(self, sig: Any) -> bool:
        """Switch to the overload's folder; return False if some of its code is in no file, so that it cannot be cached."""
        try:
            code = code_hash(frozenset([self._py_func.__module__, *modules_of(normalize_signature(sig)[0])]))
        except LookupError:
            return False
        self._impl.locator.folder = cache_home() / "kernels" / code[:2] / code
        self._cache_file = CheckedCacheFile(self._impl.locator.get_cache_path(), f"{self._impl.filename_base}{self._suffix}", "")
        return True


def modules_of(kind: Any) -> Iterator[str]:
    """Yield the modules of all classes in a numba type, or in a tuple of types."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class.__module__
    for part in vars(kind).values() if isinstance(kind, types.Type) else kind:
        if isinstance(part, types.Type | tuple):
            yield from modules_of(part)
