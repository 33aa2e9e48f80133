"""A submission's folder as bytes: two plain files of bounded size, read once, nothing followed and nothing unpacked."""

import os
import stat
from pathlib import Path

CARD = "card.json"
SAFETENSORS, ONNX = "agent.safetensors", "policy.onnx"
MOST_BYTES = {CARD: 1 << 18, SAFETENSORS: 1 << 24, ONNX: 1 << 24}


class RefusedError(ValueError):
    """A submission that is not taken: the file, what is wrong with it, and what is allowed."""

    def __init__(self, place: Path | str, found: str, allowed: str) -> None:
        super().__init__(str(place), found, allowed)

    def __str__(self) -> str:
        place, found, allowed = self.args
        return f"{place}: {found}; allowed: {allowed}"


def read_files(folder: Path) -> dict[str, bytes]:
    """The content of card and weights by file name.

    Raises:
        RefusedError: it is no folder (archives are not unpacked), holds anything but a card and one file of weights, or a file is a link, a
            device, too large, or cannot be read.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise RefusedError(folder, "is not a folder", "a folder, not a link to one; archives are not unpacked")
    names = sorted(os.listdir(folder))
    weights = [name for name in names if name in (SAFETENSORS, ONNX)]
    for name in names:
        if name not in MOST_BYTES:
            raise RefusedError(folder / ascii(name)[1:-1], "does not belong here", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    if CARD not in names or len(weights) != 1:
        raise RefusedError(folder, f"holds {names}", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    return {name: _read(folder / name, MOST_BYTES[name]) for name in names}


def _read(path: Path, most: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not be waited for
    except OSError as error:
        raise RefusedError(path, f"cannot be opened as a file of its own ({error.strerror})", "a plain file, no link") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError(path, "is not a plain file", "a plain file, no folder, link, pipe or device")
        if status.st_size > most:
            raise RefusedError(path, f"has {status.st_size} bytes", f"at most {most}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise RefusedError(path, f"grew to {len(content)} bytes while it was read", f"at most {most}")
    return content
