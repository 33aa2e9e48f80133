"""Reading of whole files of bounded size: no device, no pipe, nothing that grows without end."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from vcgym.network.traces.cards import DataError

MAX_JSON_BYTES = 1 << 20
MAX_NESTING = 50


def read_plain(path: Path, max_bytes: int, *, links: bool = True) -> bytes:
    """Return the content of a plain file.

    Args:
        path: of the file.
        max_bytes: allowed size.
        links: a link to a plain file is followed.

    Raises:
        DataError: the file cannot be opened, is no plain file, or is larger.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)  # a pipe must not be waited for
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
                content = file.read(max_bytes + 1)  # one byte more shows a file that grows while it is read
    finally:
        os.close(handle)
    size = max(status.st_size, len(content))
    if size > max_bytes:
        raise DataError(path, "size in bytes", size, allowed)
    return content


def parse_json(path: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON object in the content of `path`.

    Raises:
        DataError: it is not UTF-8 text, not JSON, not an object, or nested too deeply.
    """
    try:
        found = json.loads(content)
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
