"""Catalogue of data files and their cards, and checks of content against cards."""

import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from vcgym.network.traces.card_file import read_card
from vcgym.network.traces.cards import CARD_ENDING, Card, DataError, canonical_sha256, card_path
from vcgym.network.traces.reading import read_content

_NOT_DATA = re.compile(r"\..*|README.*|.*\.pyc?|sources\.json|measured\.json")


class Entry(NamedTuple):
    """Data file."""

    name: str  # path relative to the searched folder
    path: Path  # path of the file
    size_bytes: int  # size on disk; 0 if the card's file is missing
    sha256: str  # hash of the current content, computed as for its card; empty if the card or its file is missing
    card: Card | None  # card of the file, or None

    @property
    def state(self) -> str:
        """Return the checksum status: "as said", "differs", "missing" or "no card"."""
        if self.card is None:
            return "no card"
        if not self.sha256:
            return "missing"
        return "as said" if self.sha256 == self.card.sha256 else "differs"


def shipped() -> Path:
    """Return the folder of the data shipped with the package."""
    return Path(str(importlib.resources.files("vcgym.data")))


def entries(folder: Path) -> Iterator[Entry]:
    """Yield every data file below `folder` in order of name, without hidden, read-me and Python files and lists of sources.

    Raises:
        DataError: a card, or a file with a card, cannot be read.
    """
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith(CARD_ENDING) and path.name != CARD_ENDING:
            described = path.with_name(path.name.removesuffix(CARD_ENDING))
            if not described.exists():
                yield Entry(name.removesuffix(CARD_ENDING), described, 0, "", read_card(path))
        elif not _NOT_DATA.fullmatch(path.name):
            yield entry_of(name, path)


def verify(found: Iterable[Entry]) -> tuple[int, int]:
    """Compare every file with its card; return the number that match and the number without a card.

    Raises:
        DataError: a file differs or is missing; the message names the first one.
    """
    as_said = without = 0
    for entry in found:
        if entry.card is None:
            without += 1
        elif entry.state != "as said":
            raise DataError(entry.path, "sha256 of the content", entry.sha256 or "file missing", f"{entry.card.sha256}, as its card says")
        else:
            as_said += 1
    return as_said, without


def entry_of(name: str, path: Path) -> Entry:
    """Return the entry of one file.

    Raises:
        DataError: a card, or a file with a card, that cannot be read.
    """
    size, beside = path.stat().st_size, card_path(path)
    if beside.exists():
        return Entry(name, path, size, hashlib.sha256(read_content(path)).hexdigest(), read_card(beside))
    body = _json_object(path)
    if "card" not in body:
        return Entry(name, path, size, "", None)
    try:
        card = Card.model_validate(body.pop("card"))
    except ValidationError as error:
        raise DataError(path, "card", str(error), "the fields of vcgym.network.traces.cards.Card") from error
    try:
        return Entry(name, path, size, canonical_sha256(body), card)
    except ValueError as error:
        raise DataError(path, "content", str(error), "JSON of finite numbers") from error


def _json_object(path: Path) -> dict[str, object]:
    """Return the object in a JSON file; an empty one if the file holds anything else."""
    if path.suffix != ".json":
        return {}
    try:
        body = json.loads(read_content(path))
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
