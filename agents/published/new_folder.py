"""Atomic creation of folders: complete or absent, even if the process is killed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEIGHTS, CARD = "agent.safetensors", "card.json"
"""Files of a published agent."""


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to write into; when the block ends without an error, sync its files and rename it to `target`.

    Raises:
        FileExistsError: `target` exists.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists already; nothing is overwritten")
    draft = target.with_name(f".{target.name}.draft-{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        for path in (*draft.iterdir(), draft):
            _sync(path)
        draft.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
