"""Regular files: reading with a size limit, rejecting devices and pipes; atomic replacement, so that readers see the old or new file.

A folder may come from somebody else. So a name that a file holds becomes a path only by `inside`, drafts and locks follow no link, and what
is replaced or removed is the link, not what it leads to.
"""

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vcgym.network.traces.cards import DataError, unique

MAX_JSON_BYTES = 1 << 20
MAX_NESTING = 50
MIN_FREE_BYTES = 1 << 26  # enough for checkpoints, results and a page
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)  # of Windows, with any ending
_NO_NAME = re.compile(r"|\.\.?|.*[\\:\x00-\x1f\x7f\ud800-\udfff].*", re.DOTALL)


def inside(folder: Path, name: str) -> Path:
    """Return the path that `name`, which stands in a file, has in `folder`.

    Args:
        folder: folder that holds the named file; it may be a link itself, as the user named it.
        name: file or folder below it, with slashes between its parts; it need not exist.

    Raises:
        DataError: the name is absolute, or a part of it is empty, `.`, `..`, the name of a device, or has a backslash, a colon or a control
            character; or a link leads out of the folder, or to the folder itself.
    """
    parts = name.split("/")
    if any(_NO_NAME.fullmatch(part) or _DEVICE.fullmatch(part) for part in parts):
        raise DataError(folder, "name of a file in it", name, "names of files and folders below it, no '..', no absolute path")
    path = folder.joinpath(*parts)
    home, found = os.path.realpath(folder), os.path.realpath(path)
    if found == home or os.path.commonpath([home, found]) != home:
        raise DataError(path, "file", f"a link to {found}", f"a file or folder in {home}")
    return path


def read_plain(path: Path, max_bytes: int, *, links: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: path of the file.
        max_bytes: maximum size.
        links: follow a symbolic link to a regular file.

    Raises:
        DataError: the file cannot be opened, is not a regular file, or is larger.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)  # do not wait for a pipe
    allowed = f"a plain file of at most {max_bytes} bytes{'' if links else ', no link'}"
    try:
        handle = os.open(path, flags)
    except OSError as error:
        raise DataError(path, "file", error.strerror, allowed) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise DataError(path, "file", "a folder, pipe or device", allowed)
        content = b""
        if status.st_size <= max_bytes:
            with os.fdopen(handle, "rb", closefd=False) as file:
                content = file.read(status.st_size + 1)  # an extra byte reveals a file that grows while it is read
    finally:
        os.close(handle)
    size = max(status.st_size, len(content))
    if size > max_bytes:
        raise DataError(path, "size in bytes", size, allowed)
    if size > status.st_size:
        raise DataError(path, "size in bytes", f"{status.st_size}, and growing", allowed)
    return content


def parse_json(path: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON object in the content of `path`.

    Raises:
        DataError: the content is not UTF-8 text, not JSON, not an object, has a key twice, or is nested too deeply.
    """
    try:
        found = json.loads(content, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise DataError(path, "content", f"{type(error).__name__}: {error}", "a JSON object") from error
    if not isinstance(found, dict):
        raise DataError(path, "content", type(found).__name__, "a JSON object")
    level: list[Any] = [found]
    for _ in range(MAX_NESTING):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        level = [inner for inner in level if isinstance(inner, dict | list)]
    if level:
        raise DataError(path, "nesting", f"more than {MAX_NESTING}", f"at most {MAX_NESTING} levels")
    return found


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Return the JSON object in a file of at most `max_bytes`.

    Raises:
        DataError: see `read_plain` and `parse_json`.
    """
    return parse_json(path, read_plain(path, max_bytes))


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` and create its folder; the content is flushed to disk before it replaces the old file, or a link.

    Raises:
        OSError: it cannot be written, for example on a full disk. The error names `path`; the old file stays, and no draft remains.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        error.filename = str(path)  # the error of a write names no file, and the draft's name would not help a user
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an advisory lock during the block, after a wait for other processes; the lock of a process that is killed ends with it.

    Args:
        path: the file to lock, made if need be; it stays.

    Raises:
        OSError: it cannot be opened, or is a link.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def require_space(folder: Path) -> None:
    """Check that the disk of a folder, which need not exist yet, has enough free space.

    Raises:
        DataError: it has not, or the folder or one above it is a file; the message names the folder and the free bytes, or the file.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise DataError(existing, "file", "existing", "a folder, or none")
    free = shutil.disk_usage(existing).free
    if free < MIN_FREE_BYTES:
        raise DataError(folder, "free space of the disk in bytes", free, f"at least {MIN_FREE_BYTES}")
