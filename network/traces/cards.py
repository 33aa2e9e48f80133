"""Cards of data files, the folder of measured data, and the shipped per-link parameters.

Every data file has a card: source, licence, kind and a hash of the content. A file whose hash differs is rejected, so the hash in a
result row identifies the data.
"""

import functools
import hashlib
import importlib.resources
import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vcgym.network.traces.refusal import faults

DATA_VARIABLE = "VCGYM_DATA"
CARD_ENDING = ".card.json"
LINK_TABLES = "wonderproxy_ten_places", "table1", "cloud"
MAX_MESSAGE = 300  # characters of an error
_ROOM = {"value": 90, "allowed": 60, "file": 60, "where": 60}  # characters kept per part of a longer error, in order of shortening

Kind = Literal["measured", "synthesised", "fitted"]
Milliseconds = Annotated[float, Field(ge=0.0, le=60_000.0)]


class DataError(ValueError):
    """Missing or malformed data.

    Args:
        file: file or setting of the value.
        where: line and field.
        value: value found.
        allowed: allowed values.
    """

    def __init__(self, file: str | Path, where: str, value: object, allowed: str) -> None:
        super().__init__(str(file), where, value, allowed)

    def __str__(self) -> str:
        file, where, value, allowed = self.args
        parts = {"file": file, "where": where, "value": repr(value), "allowed": allowed}
        excess = sum(map(len, parts.values())) + len(":  is ; allowed: ") - MAX_MESSAGE
        for name, kept_characters in _ROOM.items():
            text = parts[name]
            if excess > 0 and len(text) > kept_characters:
                kept = max(kept_characters, len(text) - excess)
                excess -= len(text) - kept
                parts[name] = f"...{text[3 - kept :]}" if name == "file" else f"{text[: kept - 3]}..."
        return "{file}: {where} is {value}; allowed: {allowed}".format_map(parts).replace("\n", " ")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Card(_Record):
    """Description of one data file; `sha256` is the hash of its content (for a gzip file: uncompressed)."""

    name: str
    description: str
    source: str
    licence: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    kind: Kind
    units: str


def data_root(root: str | None = None) -> Path:
    """Return the absolute path of the folder of measured data: `root` if given, else the environment variable VCGYM_DATA.

    Raises:
        DataError: neither is set, or the folder does not exist.
    """
    how = f"set {DATA_VARIABLE}=FOLDER, data=FOLDER of an environment or data.root=FOLDER of a command"
    setting, value = ("data", root) if root else (DATA_VARIABLE, os.environ.get(DATA_VARIABLE))
    if not value:
        raise DataError("data folder", DATA_VARIABLE, None, f"a folder; {how}")
    folder = Path(os.path.expanduser(value)).resolve()
    if not folder.is_dir():
        raise DataError("data folder", f"{setting} ({folder})", value, f"an existing folder; {how}")
    return folder


def card_path(path: Path) -> Path:
    """Return the path of the card of the data file `path`, in the same folder."""
    return path.with_name(f"{path.name}{CARD_ENDING}")


class Place(_Record):
    """A data centre (endpoint), a user, or a city that may be either."""

    code: str
    role: Literal["endpoint", "user", "city"]
    name: str
    country: str


class Beta(_Record):
    """Round-trip time low_ms + (high_ms - low_ms) * X, X ~ Beta(a, b); `clamped` if the measured moments were infeasible."""

    low_ms: Milliseconds
    high_ms: Milliseconds
    a: Annotated[float, Field(gt=0.0)]
    b: Annotated[float, Field(gt=0.0)]
    clamped: bool

    @model_validator(mode="after")
    def _has_width(self) -> "Beta":
        if not self.low_ms < self.high_ms:
            raise ValueError(f"high_ms is {self.high_ms}; allowed: above low_ms {self.low_ms}")
        return self


class BadHour(Beta):
    """Round-trip time within a bad hour; `imputed` if the link has no two-day record of its own."""

    imputed: bool


class BadHours(_Record):
    """Two-state hours: `share` of a link's hours are bad, with congestion bursts of median level `level_ms` on top of an ordinary hour.

    `clamped` if the share fitted to the measured mean and deviation was outside its limits; `imputed` as in `BadHour`.
    """

    share: Annotated[float, Field(ge=0.0, le=1.0)]
    level_ms: Milliseconds
    clamped: bool = False
    imputed: bool = False


class QueueTimes(_Record):
    """Round-trip time base_ms + exp(log_mean + log_sd * Z), Z standard normal, the exponential in ms; `assumed` if not measured."""

    base_ms: Milliseconds
    log_mean: float
    log_sd: Annotated[float, Field(gt=0.0)]
    assumed: bool = False


class Link(_Record):
    """Ordered pair of places. Fields that a table lacks are None; `loss` is a share of packets."""

    source: str
    destination: str
    rtt_ms: Milliseconds | None = None
    loss: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    median: Beta | None = None
    worst: BadHour | None = None
    bad_hours: BadHours | None = None
    queue: QueueTimes


class Carded(_Record):
    """A JSON document that contains its own card."""

    card: Card


CardedT = TypeVar("CardedT", bound=Carded)


class LinkTable(Carded):
    """Places and every ordered link between them; delays are round-trip times."""

    places: tuple[Place, ...]
    links: tuple[Link, ...]

    @model_validator(mode="after")
    def _is_complete(self) -> "LinkTable":
        codes = [place.code for place in self.places]
        wanted = {(a, b) for a in codes for b in codes if a != b}
        found = [(link.source, link.destination) for link in self.links]
        if len(set(codes)) != len(codes) or len(set(found)) != len(found) or set(found) != wanted:
            missing = len(wanted - set(found))
            raise ValueError(f"allowed: each ordered pair of the places once; {missing} of {len(wanted)} are missing")
        return self

    def link(self, source: str, destination: str) -> Link:
        """Return the link from place `source` to place `destination`, by their codes."""
        for link in self.links:
            if (link.source, link.destination) == (source, destination):
                return link
        codes = ", ".join(place.code for place in self.places)
        raise DataError(self.card.name, "link", f"{source}->{destination}", f"two different places of {codes}")


def canonical_sha256(body: dict[str, Any]) -> str:
    """Hash a JSON document without its card: with sorted keys and no spaces, so that the layout does not matter."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


@functools.cache
def load_links(name: str) -> LinkTable:
    """Load one of the shipped `LINK_TABLES`.

    Raises:
        DataError: the table does not exist, a field is invalid, or the content does not match the card's hash.
    """
    if name not in LINK_TABLES:
        raise DataError("link table", "name", name, f"a JSON table shipped in vcgym.data: {', '.join(LINK_TABLES)}")
    return load_carded(LinkTable, f"{name}.json")


def load_carded(kind: type[CardedT], *path: str) -> CardedT:
    """Load a shipped document with a card, `vcgym.data/PATH`; `path` are its folders and its file. See `parse_carded`."""
    return parse_carded(kind, path[-1], importlib.resources.files("vcgym.data").joinpath(*path).read_text(encoding="utf-8"))


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object as a dictionary; a hook of `json.loads`.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice!r} occurs twice")
    return found


def parse_carded(kind: type[CardedT], file: str, text: str) -> CardedT:
    """Validate a JSON document against its fields and its own card.

    Args:
        kind: the document's class.
        file: file name for errors.
        text: the document.

    Raises:
        DataError: a field is invalid, or the content does not match the card's hash.
    """
    try:
        document = kind.model_validate_json(text)
    except ValidationError as error:
        raise DataError(file, "content", faults(error), f"the fields of {kind.__module__}.{kind.__name__}") from error
    try:
        body = json.loads(text, object_pairs_hook=unique)
        sha256 = canonical_sha256({name: value for name, value in body.items() if name != "card"})
    except (ValueError, RecursionError) as error:
        raise DataError(file, "content", f"{type(error).__name__}: {error}", "JSON of finite numbers, each key once") from error
    if sha256 != document.card.sha256:
        raise DataError(file, "sha256 of everything but the card", sha256, f"{document.card.sha256}, as the card says")
    return document
