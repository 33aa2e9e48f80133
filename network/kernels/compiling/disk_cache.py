"""numba's disk cache of compiled code, made so that it cannot go stale and never raises.

numba keys a cached function by its own file only, so editing a callee, or an implementation selected by type, leaves a stale caller in the
cache. Here the cache folder is named by a hash of all code that can be compiled into it: the import closures of the function's module and
of the modules of all classes among its argument types (`vcgym.network.kernels.compiling.sources`). Broken files are recompiled, and code
that cannot be written is not cached.

Each file is a SHA-256 followed by numba's pickle. The hash detects accidents, not attacks: anyone who may write to the folder can run
code in the processes that read it.

Private names of numba used here: of `numba.core.caching` `CompileResultCacheImpl`, `FunctionCache`, `IndexDataCacheFile`, `_CacheLocator`,
with the methods that are replaced below; `numba.core.sigutils.normalize_signature`.
"""

import hashlib
import logging
import pickle
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.sigutils import normalize_signature

from vcgym.network.kernels.compiling.announcement import announce_compiling
from vcgym.network.kernels.compiling.lean_compiler import load
from vcgym.network.kernels.compiling.sources import cache_home, code_hash, modules_of
from vcgym.network.kernels.compiling.turns import KernelTurns

log = logging.getLogger(__name__)

_DIGEST_BYTES = 32


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

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        """Return the compiled function."""
        return load(target_context, payload)


class _CheckedFile(IndexDataCacheFile):
    """numba's index and data files of one function; reading and writing them never raise."""

    def save(self, key: Any, data: Any) -> None:
        """Save compiled code; log a warning if that fails."""
        try:
            super().save(key, data)
        except OSError as error:
            _say_once(f"is not kept: {error.strerror or error}")

    def _load_index(self) -> dict[Any, str]:
        version, overloads = self._read(self._index_path) or (None, {})
        return overloads if version == self._version else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump((self._version, overloads)))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _dump(self, obj: Any) -> bytes:
        body: bytes = super()._dump(obj)
        return hashlib.sha256(body).digest() + body

    def _read(self, path: str) -> Any:
        """Return the content of a file; None if the file is missing or broken."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say_once(f"cannot be read: {error.strerror or error}")
            return None
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            _say_once(f"is broken: {Path(path).name} does not have its hash")
            return None
        return pickle.loads(body)


class DiskCache(FunctionCache):
    """numba's cache of one function, with a folder per overload that is named by the hash of its sources.

    Args:
        function: the Python function.
        suffix: appended to the name of its files; one for each compiled form.
    """

    _impl_class = _Implementation

    def __init__(self, function: Any, suffix: str = "") -> None:
        super().__init__(function)
        self._suffix = suffix
        self.turns = KernelTurns()

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        entered = self._entered(sig)
        found = super()._load_overload(sig, target_context) if entered else None
        if found is None:
            announce_compiling()
        if found is None and entered:
            self.turns.take(self._file_of_turn(sig))
            found = super()._load_overload(sig, target_context)  # another process may have kept it meanwhile
        return found

    def _save_overload(self, sig: Any, data: Any) -> None:
        try:
            if self._entered(sig):
                super()._save_overload(sig, data)
        except OSError as error:  # no folder can be made
            _say_once(f"is not kept: {error.strerror or error}")

    def _file_of_turn(self, sig: Any) -> Path:
        kernel = hashlib.sha256(repr(sig).encode()).hexdigest()[:12]
        return self._impl.locator.folder / f"{self._impl.filename_base}{self._suffix}.{kernel}.lock"

    def _entered(self, sig: Any) -> bool:
        """Switch to the overload's folder; return False if some of its code is in no file, so that it cannot be cached."""
        try:
            code = code_hash(frozenset([self._py_func.__module__, *modules_of(normalize_signature(sig)[0])]))
        except LookupError:
            return False
        self._impl.locator.folder = cache_home() / "kernels" / code[:2] / code
        self._cache_file = _CheckedFile(self._impl.locator.get_cache_path(), f"{self._impl.filename_base}{self._suffix}", "")
        return True


_complained_of: set[Path] = set()


def _say_once(trouble: str) -> None:
    """Log one warning per process about the cache folder."""
    folder = cache_home() / "kernels"
    if folder not in _complained_of:
        _complained_of.add(folder)
        log.warning(f"compiled code in {folder} {trouble}; work goes on, kernels are compiled anew")
