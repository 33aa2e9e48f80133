"""Download of measured data sets from their original public addresses.

Nothing is fetched without an explicit request. If no hash is published for a set, its card records the hash of the download, which reveals
later changes.
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
    """A published data set.

    Attributes:
        name: name used to request it.
        file: path of the download below the data root.
        url: address.
        max_bytes: maximum accepted size.
        sha256: hash of its content (for a gzip file: uncompressed); None if none is published.
        format: format for `vcgym import`; None: it is neither a series nor a table of pings.
        description, source, licence, kind, units: fields of its card.
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
    """Return the known data sets by name."""
    listed = TypeAdapter(list[Source]).validate_json((shipped() / "sources.json").read_bytes())
    return {source.name: source for source in listed}


def download(source: Source, root: Path) -> Path:
    """Fetch `source` into the data root, write its card and return its path. A failed download leaves no file.

    Raises:
        DataError: the file exists already, there is no connection, the response is not the file, exceeds `max_bytes` or is truncated, or
            its hash differs.
    """
    path = root / source.file
    refuse_existing(path)
    refuse_existing(card_path(path))
    part = path.with_name(f".part-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        _fetch(source, part)
        sha256 = hashlib.sha256(_content(source, part)).hexdigest()
        if sha256 != (source.sha256 or sha256):
            raise DataError(source.url, "sha256 of the content", sha256, f"{source.sha256}, as stated for {source.name}")
        part.rename(path)
    except OSError as error:
        raise DataError(path, "file", f"{type(error).__name__}: {error}", "a folder that can be written") from error
    finally:
        part.unlink(missing_ok=True)
    described = source.model_dump(include={"name", "description", "licence", "kind", "units"})
    write_card(path, Card(**described, source=f"{source.source}; {source.url}", sha256=sha256))
    return path


def _content(source: Source, part: Path) -> bytes:
    try:
        return read_content(part)
    except DataError as error:
        raise DataError(source.url, *error.args[1:]) from error


def _fetch(source: Source, part: Path) -> None:
    request = urllib.request.Request(source.url, headers={"User-Agent": "vcgym"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer, open(part, "xb") as file:
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
