"""Cards in files of their own, beside the data files that they describe."""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from vcgym.network.traces.cards import Card, DataError, card_path
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain, replace_file


def read_card(path: Path) -> Card:
    """Read a card file.

    Raises:
        DataError: the file cannot be read or is not a card.
    """
    try:
        return Card.model_validate_json(read_plain(path, MAX_JSON_BYTES))
    except ValidationError as error:
        raise DataError(path, "card", str(error), "the fields of vcgym.network.traces.cards.Card") from error


def card_beside(path: Path, content: bytes) -> Card:
    """Return the card at the `card_path` of a data file, checked against `content`; if there is none, a card that says so.

    Raises:
        DataError: the card cannot be read, or its hash differs from that of `content`.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    beside = card_path(path)
    if not beside.exists():
        told = {"description": "no card beside the file", "source": path.name, "licence": "not stated", "units": "not stated"}
        return Card(name=path.name.split(".")[0], **told, sha256=sha256, kind="measured")
    card = read_card(beside)
    if card.sha256 != sha256:
        raise DataError(path, "sha256 of the content", sha256, f"{card.sha256}, as {beside.name} says")
    return card


def replace_with_card(path: Path, content: bytes, description: str, source: str, units: str) -> None:
    """Write or replace a file of simulated results, and its card."""
    sha256, name = hashlib.sha256(content).hexdigest(), path.name.split(".")[0]
    card = Card(name=name, description=description, source=source, licence="MIT", sha256=sha256, kind="synthesised", units=units)
    replace_file(path, content)
    replace_file(card_path(path), (card.model_dump_json(indent=1) + "\n").encode())
