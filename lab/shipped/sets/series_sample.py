"""Write the measured series that ship, data/cicv5g.csv.gz and data/starlink_pings.csv.gz with cards, from copies below a data root."""

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, csv_content, read_trace, write_card, write_new

_HEADER = ("series", "sent_ms", "rtt_ms")
_UNITS = "sent_ms: milliseconds since the first probe; rtt_ms: round-trip milliseconds, empty for a lost probe"


def write_drives(source: Path, path: Path) -> None:
    """Write the 22 drives of folder cicv5g_rtt."""
    files = sorted((source / "cicv5g_rtt").glob(f"*{ENDING}"))
    if not files:
        raise DataError(source / "cicv5g_rtt", f"number of files *{ENDING}", 0, "22")
    description = (
        "Round trips vehicle - network - vehicle over two 5G networks, n8 (private) and n78 (public), on drives in a city (urban) and "
        "where n8 leaves its coverage (weak), at 20 and 30 km/h. Changed: of each drive the send time since its "
        "first probe and the round trip, all drives in one file. A probe that did not return has no row"
    )
    origin = (
        "CICV5G: 5G communication delay dataset for cloud-based vehicle planning and control, Zenodo 10.5281/zenodo.17475688 (2025), "
        "https://github.com/zxr805/CICV5G, commit ea215aa"
    )
    _write([read_trace(file) for file in files], path, DRIVES, description, origin, "CC BY 4.0")


def write_pings(source: Path, path: Path) -> None:
    """Write the two series of folder leo_ping_10ms that were probed one ping after another."""
    description = (
        "Pings to the operator's gateway over two satellite accesses, Lagos (by links between satellites) and Seattle (without). "
        "Changed: the first 27,000 pings of each; the time of sending in place of that of the reply, for a lost "
        "ping halfway between its neighbours"
    )
    origin = (
        "https://github.com/clarkzjw/mmsys24-starlink-livestreaming-data, commit bcf33b9a, src/latency/isl-ping-gw-lagos-* and "
        "no-isl-ping-gw-seattle-*"
    )
    places = ("lagos", "seattle")
    series = [read_trace(source / "leo_ping_10ms" / f"starlink_{place}_serial{ENDING}") for place in places]
    named = [Trace(place, one.sent_us, one.one_way_delay_us, one.card) for place, one in zip(places, series, strict=True)]
    _write(named, path, PINGS, description, origin, "CC BY-SA 4.0")


def _write(series: list[Trace], path: Path, name: str, description: str, source: str, licence: str) -> None:
    content = csv_content(_HEADER, _rows_of(series))
    sha256 = hashlib.sha256(content).hexdigest()
    card = Card(name=name, description=description, source=source, licence=licence, sha256=sha256, kind="measured", units=_UNITS)
    write_new(path, gzip.compress(content, mtime=0))
    write_card(path, card)


def _rows_of(traces: Sequence[Trace]) -> list[str]:
    """Return traces as rows of a shipped file, without its header."""
    return [
        f"{one.name},{_ms(sent)},{'' if delay == LOST else _ms(delay)}"
        for one in traces
        for sent, delay in zip(one.sent_us.tolist(), one.one_way_delay_us.tolist(), strict=True)
    ]


def _ms(us: Any) -> str:
    return f"{us / 1000:.3f}".rstrip("0").rstrip(".")
