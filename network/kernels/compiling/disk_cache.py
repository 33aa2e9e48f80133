"""numba's disk cache of compiled code with a key of sources, so that it cannot go stale and never raises.

numba keys a cached function by its own file only, so editing a callee, or an implementation selected by type, leaves a stale caller in the
cache. Here the name of a file holds a hash of all code that can be compiled into it: the import closures of the function's module and of
the modules of all classes among its argument types (`vcgym.network.kernels.compiling.sources`). One file has one signature. Broken files
are compiled anew, and code that cannot be written is not cached.

Processes that start together take turns: one compiles a kernel, and those that waited load it. A turn is a lock on a file next to the
compiled code. Kernels do not call themselves, so a process that waits for a kernel holds only callers of it, and no two wait for each
other. A turn is an economy, not a need: where files cannot be locked, and after `MAX_WAIT_S`, a process compiles the kernel itself.

Each file holds the SHA-256 of its content. The hash detects accidents, not attacks: anyone who may write to the folder can run code in the
processes that read it.
"""

import hashlib
import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, NamedTuple

from filelock import FileLock
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.sigutils import normalize_signature

from vcgym.network.kernels.compiling.sources import cache_home, code_hash, modules_of

log = logging.getLogger(__name__)

MAX_WAIT_S = 120.0
"""Maximum wait for one kernel, about ten times what the largest takes to compile on a busy machine."""

_SAID = "VCGYM_COMPILING"  # set by the announcing process for its child processes


def announce_compiling() -> None:
    """Say on standard error why the first call takes long, unless this process or a parent has said it."""
    if _SAID not in os.environ:
        os.environ[_SAID] = "said"
        sys.stderr.write("vcgym: compiling kernels, once: about 20 s for an environment, 2 minutes for the systems of a suite\n")


def say_nothing_more() -> None:
    """Say no more that kernels are compiled, nor that they cannot be saved: for a process that is to save none."""
    os.environ[_SAID] = "said"
    log.setLevel(logging.ERROR)


class _Locator(_CacheLocator):
    """Folder and file name of a function's compiled code, independent of time stamps and line numbers."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file, self._function = path, function  # numba names the file in warnings

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(cache_home() / "kernels")

    def get_source_stamp(self) -> str:
        return ""  # the file's name identifies the sources

    def get_disambiguator(self) -> str:
        """Return a hash of the byte code, which distinguishes functions of the same name."""
        return _short_hash(_code_text(self._function.__code__, self._function.__doc__))


def _code_text(code: CodeType, docstring: str | None) -> str:
    constants = [_code_text(one, None) if isinstance(one, CodeType) else repr(one) for one in code.co_consts if one is not docstring]
    return repr((code.co_code, constants, code.co_names))


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class CompiledCode(CompileResultCacheImpl):
    """numba's form of compiled code on disk."""

    _locator_classes: ClassVar = [_Locator]


class _Checked(NamedTuple):
    digest: str
    body: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (self.digest, self.body)


def _unpack(digest: str, body: bytes) -> Any:
    if hashlib.sha256(body).hexdigest() != digest:
        raise ValueError("a file does not have its hash")
    return pickle.loads(body)


class _CheckedFile(IndexDataCacheFile):
    """numba's index and data files of one function, whose content raises ValueError without its hash."""

    def _dump(self, obj: Any) -> bytes:
        body: bytes = super()._dump(obj)
        checked: bytes = super()._dump(_Checked(hashlib.sha256(body).hexdigest(), body))
        return checked


class Turns(threading.local):
    """The turns that a thread has taken for one function and has not yet given back."""

    def __init__(self) -> None:
        self._taken = ExitStack()

    def giving_back(self, compile_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return `compile_one`, numba's method of a dispatcher, such that its turn ends with it, also by an error."""

        def compile_and_give_back(signature: Any) -> Any:
            with ExitStack() as self._taken:
                return compile_one(signature)

        return compile_and_give_back

    def take(self, path: Path) -> None:
        """Wait for the turn of one kernel, a lock on the file `path`, which is removed afterwards; at once if nobody has it."""
        with suppress(OSError, NotImplementedError):  # among them Timeout; of file systems without locks
            path.parent.mkdir(parents=True, exist_ok=True)
            self._taken.enter_context(FileLock(path).acquire(MAX_WAIT_S, poll_interval=0.02))
            self._taken.callback(path.unlink, missing_ok=True)


class DiskCache(FunctionCache):
    """numba's cache of one function, with a file per overload that is named by the hash of its sources.

    Args:
        function: the Python function.
        form: part of the name of its files; one for each compiler.
    """

    _impl_class = CompiledCode

    def __init__(self, function: Any, form: str) -> None:
        super().__init__(function)
        self._form, self._turns = form, Turns()

    def serve(self, compiled: Any) -> None:
        """Become the cache of a dispatcher of numba."""
        compiled._cache, compiled.compile = self, self._turns.giving_back(compiled.compile)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature; None if it is not cached, and then it is the turn of this process to compile it."""
        found = self._load(sig, target_context)
        if found is None:
            announce_compiling()
            if self._can_name(sig, target_context.codegen()):
                self._turns.take(Path(self.cache_path, f"{self._name}.lock"))
                found = self._load(sig, target_context)  # another process may have compiled it meanwhile
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            if self._can_name(sig, target_context.codegen()):
                return super().load_overload(sig, target_context)
        except OSError as error:
            _say_once(f"cannot be read: {error.strerror or error}")
        except Exception as error:  # a damaged file may raise anything
            _say_once(f"is broken: {error}")
            with suppress(OSError):
                self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function; log a warning if that fails."""
        try:
            if self._can_name(sig, data.codegen):
                super().save_overload(sig, data)
        except OSError as error:
            _say_once(f"is not saved: {error.strerror or error}")

    def _can_name(self, sig: Any, codegen: Any) -> bool:
        """Name the overload's file; return False if some of its code is in no file, so that it cannot be cached."""
        try:
            code = code_hash(frozenset([self._py_func.__module__, *modules_of(normalize_signature(sig)[0])]))
        except LookupError:
            return False
        self._name = f"{self._impl.filename_base}.{self._form}.{code}.{_short_hash(repr(self._index_key(sig, codegen)))}"
        self._cache_file = _CheckedFile(self.cache_path, self._name, "")
        return True


_complained_of: set[str] = set()


def _say_once(trouble: str) -> None:
    """Log one warning per process about the cache folder."""
    folder = str(cache_home() / "kernels")
    if folder not in _complained_of:
        _complained_of.add(folder)
        log.warning(f"compiled code in {folder} {trouble}; work goes on, kernels are compiled anew")
