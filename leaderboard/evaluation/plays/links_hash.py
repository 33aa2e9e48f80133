"""Hash of sampled bottlenecks, as under which suites are frozen."""

import hashlib
from collections.abc import Iterable
from typing import Any

from vcgym.network.bottleneck.shared_link import SharedLink

# Fields of worlds that were added after older suites were frozen.
ADDED_LATER = (
    "discipline", "pauses_s", "backwards", "reverse", "file_bytes", "idle_s", "second", "at_second", "priority", "air", "station_mbps",
)  # fmt: skip
RENAMED = {"min_kbps": "least_kbps"}  # fields by the names under which older suites were frozen
_HASHED_APART: Any = None  # traces are hashed by content


def links_hash(drawn: Iterable[SharedLink]) -> str:
    """Return the 16-digit hash of sampled bottlenecks, including their traces."""
    digest = hashlib.sha256()
    for link in drawn:
        beside = {name: which for name in ("reverse", "second") if (which := getattr(link, name)) is not None}
        apart = {name: which._replace(trace=_HASHED_APART) for name, which in beside.items()}
        digest.update(_text(link._replace(trace=_HASHED_APART, **apart)).encode())
        for trace in (link.trace, *(which.trace for which in beside.values())):
            digest.update(trace.name.encode() + trace.times_us.tobytes() + trace.rates_bps.tobytes())
    return digest.hexdigest()[:16]


def _text(value: Any) -> str:
    """Return `repr` of a sampled world without the fields of `ADDED_LATER` that have their defaults."""
    fields: dict[str, Any] | None = getattr(value, "_field_defaults", None)
    if fields is not None:
        shown = [name for name in value._fields if name not in ADDED_LATER or getattr(value, name) != fields[name]]
        return f"{type(value).__name__}({', '.join(f'{RENAMED.get(name, name)}={_text(getattr(value, name))}' for name in shown)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)
