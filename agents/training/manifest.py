"""The manifest of a checkpoint: the SHA-256 of every other file, checked before any file is used.

It detects changes by a disk, a copy or an editor. It does not stop an attacker who can write to the folder and so to the manifest;
therefore restored values are also checked against bounds.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from vcgym.network.traces.plain_file import read_json, read_plain
from vcgym.network.traces.refusal import shown

MANIFEST = "manifest.json"
MAX_FILE_BYTES = 1 << 34  # large because of SAC's replay buffer


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files and their manifest into an empty folder."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / MANIFEST).write_text(json.dumps({name: _sha256(content) for name, content in files.items()}, indent=1) + "\n")


def read_files(folder: Path, names: tuple[str, ...]) -> list[bytes]:
    """Return the content of files after a check against their manifest.

    Raises:
        ValueError: a file is missing or differs; the message names it.
    """
    named = read_json(folder / MANIFEST)
    found = []
    for name in names:
        content = read_plain(folder / name, MAX_FILE_BYTES)
        if _sha256(content) != named.get(name):
            raise ValueError(f"{folder / name}: SHA-256 is {_sha256(content)}; allowed: {shown(named.get(name))}, as {MANIFEST} says")
        found.append(content)
    return found


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
