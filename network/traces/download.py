"""Measured sets that lie elsewhere, and how to fetch one from its first public address.

Nothing is fetched unless a person asks for it. A set whose hash nobody has stated gets the hash of what came, in its card, so that a later
change is seen.
"""

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vcgym.network.traces.cards import Card, DataError, Kind, card_path
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.reading import read_content
from vcgym.network.traces.trace_file import refuse_existing, write_card

TIMEOUT_S = 30.0
_PIECE_BYTES = 2**20


class Source(BaseModel):
    """A set as it was published.

    Attributes:
        name: what it is asked for by.
        file: where it goes, below the data root.
        url: its address.
        max_bytes: more is not accepted.
        sha256: of its content (of a gzip file: unpacked); None where nobody has stated it.
        format: how `vcgym-data do=import` reads it; None: it is not a series or a table of pings.
        description, source, licence, kind, units: what its card will say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    file: Annotated[str, Field(pattern=r"^[a-z0-9_]+/[A-Za-z0-9_.-]+$")]
    url: Annotated[str, Field(pattern="^https?://")]
    max_bytes: Annotated[int, Field(gt=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    format: str | None = None
    description: str
    source: str
    licence: str
    kind: Kind = "measured"
    units: str


def sources() -> dict[str, Source]:
    """Return the known sets by name."""
    listed = TypeAdapter(list[Source]).validate_json((shipped() / "sources.json").read_bytes())
    return {source.name: source for source in listed}


def download(source: Source, root: Path) -> Path:
    """Fetch `source` into the data root, write its card and return its path. It is there whole, or not at all.

    Raises:
        DataError: the file is there already, no connection, an answer that is not the file, more than `max_bytes`, a body cut off, content
            of another hash.
    """
    path = root / source.file
    refuse_existing(path)
    refuse_existing(card_path(path))
    part = path.with_name(f".part-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch(source, part)
        sha256 = hashlib.sha256(_content(source, part)).hexdigest()
        if sha256 != (source.sha256 or sha256):
            raise DataError(source.url, "sha256 of the content", sha256, f"{source.sha256}, as stated for {source.name}")
        part.rename(path)
    except OSError as error:
        raise DataError(path, "file", f"{type(error).__name__}: {error}", "a folder that can be written") from error
    finally:
        part.unlink(missing_ok=True)
    write_card(
        path,
        Card(
            name=source.name,
            description=source.description,
            source=f"{source.source}; {source.url}",
            licence=source.licence,
            sha256=sha256,
            kind=source.kind,
            units=source.units,
        ),
    )
    return path


def _content(source: Source, part: Path) -> bytes:
    try:
        return read_content(part)
    except DataError as error:
        raise DataError(source.url, *error.args[1:]) from error


def _fetch(source: Source, part: Path) -> None:
    request = urllib.request.Request(source.url, headers={"User-Agent": "vcgym-data"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer, open(part, "wb") as file:
            stated = answer.headers.get("Content-Length")
            if stated is not None and int(stated) > source.max_bytes:
                raise _too_large(source, stated)
            size = _copy(answer, file, source)
    except urllib.error.HTTPError as error:
        raise DataError(source.url, "answer", f"{error.code} {error.reason}", "the file; has it moved?") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        found = f"{type(error).__name__}: {error}"
        raise DataError(source.url, "connection", found, "a machine that is online and can reach it") from error
    if stated is not None and size != int(stated):
        raise DataError(source.url, "size in bytes", size, f"{stated}, as the server said; the body was cut off")


def _copy(answer: http.client.HTTPResponse, file: IO[bytes], source: Source) -> int:
    size = 0
    while piece := answer.read(_PIECE_BYTES):
        size += len(piece)
        if size > source.max_bytes:
            raise _too_large(source, f"more than {source.max_bytes}")
        file.write(piece)
    return size


def _too_large(source: Source, size: str) -> DataError:
    return DataError(source.url, "size in bytes", size, f"at most {source.max_bytes}")
