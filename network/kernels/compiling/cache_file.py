"""Disk cache of compiled code that never raises: broken files are recompiled, and code that cannot be written is not cached.

Each file is a SHA-256 followed by numba's pickle. The hash detects accidents, not attacks: anyone who may write to the folder can run
code in the processes that read it.
"""

import hashlib
import logging
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from vcgym.network.kernels.compiling.sources import cache_home

log = logging.getLogger(__name__)

_DIGEST_BYTES = 32


class CheckedCacheFile(IndexDataCacheFile):
    """numba's index and data files of one function; reading and writing them never raise."""

    def save(self, key: Any, data: Any) -> None:
        """Save compiled code; log a warning if that fails."""
        try:
            super().save(key, data)
        except OSError as error:
            say_once(f"is not kept: {error.strerror or error}")

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
            say_once(f"cannot be read: {error.strerror or error}")
            return None
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            say_once(f"is broken: {Path(path).name} does not have its hash")
            return None
        return pickle.loads(body)


_complained_of: set[Path] = set()


def say_once(trouble: str) -> None:
    """Log one warning per process about the cache folder."""
    folder = cache_home() / "kernels"
    if folder not in _complained_of:
        _complained_of.add(folder)
        log.warning(f"compiled code in {folder} {trouble}; work goes on, kernels are compiled anew")
