"""A submission's folder as bytes: two plain files of bounded size, read once, without following links or unpacking archives."""

import os
from pathlib import Path

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain
from vcgym.network.traces.refusal import MAX_LINE, one_line, shown

CARD = "card.json"
SAFETENSORS, ONNX = "agent.safetensors", "policy.onnx"
MIN_FOUND = 100  # minimum number of shown characters of a fault
MAX_BYTES = {CARD: 1 << 18, SAFETENSORS: 1 << 24, ONNX: 1 << 24}


class RefusedError(ValueError):
    """Rejection of a submission: the file, the fault, and the allowed value."""

    def __init__(self, location: Path | str, found: str, allowed: str) -> None:
        super().__init__(str(location), found, allowed)

    def __str__(self) -> str:
        location, found, allowed = self.args
        max_found = MAX_LINE - len(f"{location}: ; allowed: {allowed}")
        return one_line(f"{location}: {one_line(found, max(max_found, MIN_FOUND))}; allowed: {allowed}")


def read_files(folder: Path) -> dict[str, bytes]:
    """Read card and weights, and return their content by file name.

    Raises:
        RefusedError: it is not a folder (archives are not unpacked), contains anything but a card and one weights file, or a file is a
            link, a device, too large or unreadable.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise RefusedError(folder, "is not a folder", "a folder, not a link to one; archives are not unpacked")
    names = sorted(os.listdir(folder))
    weights = [name for name in names if name in (SAFETENSORS, ONNX)]
    for name in names:
        if name not in MAX_BYTES:
            raise RefusedError(folder / ascii(name)[1:-1], "does not belong here", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    if CARD not in names or len(weights) != 1:
        raise RefusedError(folder, f"holds {names}", f"{CARD} and one of {SAFETENSORS}, {ONNX}")
    return {name: _read(folder / name, MAX_BYTES[name]) for name in names}


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        return read_plain(path, max_bytes, links=False)
    except DataError as error:
        _, where, value, allowed = error.args
        raise RefusedError(path, f"{where} is {shown(value)}", allowed) from error
