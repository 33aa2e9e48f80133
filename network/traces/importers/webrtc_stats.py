"""Statistics of a browser's WebRTC call: the dump of chrome://webrtc-internals, or reports of `getStats` that a page saved over time.

What a report measures of the network (W3C, "Identifiers for WebRTC's Statistics API"):

    stun       round trips of STUN checks over the candidate pair in use (`currentRoundTripTime`), about every 2.5 s
    rtcp       round trips of RTCP reports of one sent stream (`remote-inbound-rtp`, `roundTripTime`), every 1 to 5 s
    capacity   the browser's estimate of what it may send (`availableOutgoingBitrate`)

A report repeats the last round trip until there is a new one, so a probe is a report in which their number grew; several between two
reports are one probe with their mean. Which requests were lost is not reported, so no probe of such a trace is lost.

Left out, since they are no delays of the network: `jitter`, an estimate of its variation, and `jitterBufferDelay`, which the player adds.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.importers.units import DELAY_US, refuse_spacing, refuse_unit
from vcgym.network.traces.reading import TraceError, read_content
from vcgym.network.traces.trace import MAX_DELAY_US, Trace, refuse_long

Measure = Literal["stun", "rtcp"]

_ROUND_TRIPS = {
    "stun": ("candidate-pair", "currentRoundTripTime", "responsesReceived"),
    "rtcp": ("remote-inbound-rtp", "roundTripTime", "roundTripTimeMeasurements"),
}
_TOTAL = "totalRoundTripTime"
_BITRATE = ("candidate-pair", "availableOutgoingBitrate")
_REQUESTS = ("requestsSent", "consentRequestsSent")
_MAX_MS = 4.1e12  # of a time since 1970, the year 2099


class Stat(NamedTuple):
    """Object of the reports over time: its kind, and times in ms and values of each field."""

    kind: str
    fields: dict[str, tuple[list[float], list[Any]]]

    def numbers(self, field: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times in ms (n,), rising, and values (n,) of a field of numbers."""
        at_ms, values = self.fields.get(field, ([], []))
        pairs = {at: float(value) for at, value in zip(at_ms, values, strict=True) if _is_number(value)}
        times = np.array(sorted(pairs))
        return times, np.array([pairs[at] for at in times.tolist()])


def import_round_trips(path: str | Path, measure: Measure = "stun", stat: str | None = None, any_spacing: bool = False) -> Trace:
    """Read round trips.

    Args:
        path: the file.
        measure: stun or rtcp, see the module docstring.
        stat: id of the candidate pair or stream; None: the only one with round trips.
        any_spacing: take a mean spacing outside `vcgym.network.traces.importers.units.SPACING_US`.

    Raises:
        TraceError: an unreadable file, no reports, none or several objects with round trips, probes too far apart, a round trip out of
            range.
    """
    path = Path(path)
    content = read_content(path)
    kind, field, count = _ROUND_TRIPS[measure]
    stats = _stats(path, content)
    probes = {name: _probes(one, field, count) for name, one in stats.items() if one.kind == kind and field in one.fields}
    name = _chosen(path, f"{kind} with {field}", {name: len(found[0]) for name, found in probes.items()}, stat, stats)
    at_ms, round_trip_s = probes[name]
    wrong = (round_trip_s < 0.0) | (round_trip_s * 1e6 > MAX_DELAY_US)
    if wrong.any():
        raise TraceError(path, f"{field} of {name}", round_trip_s[np.argmax(wrong)].item(), f"0 to {MAX_DELAY_US / 1e6:g} s")
    refuse_unit(path, f"{field} of {name}, median in s", 1e6 * float(np.median(round_trip_s)), (0.0, DELAY_US[1]), 1e6)
    start_us = round(at_ms[0] * 1e3)
    sent_us = np.rint((at_ms - at_ms[0]) * 1e3).astype(np.int64)
    refuse_long(path, f"times of {name}, us after the first", sent_us, np.ones(len(sent_us), np.int32))
    if not any_spacing:
        refuse_spacing(path, f"{field} of {name}, mean spacing in s", sent_us, len(sent_us), 1e6)
    delay_us = np.rint(round_trip_s * 1e6).astype(np.int64)
    notes = (f"{measure} round trips of {name}", _unanswered(stats[name]))
    return Trace(path.name.split(".")[0], sent_us, delay_us, card_beside(path, content), True, start_us, tuple(filter(None, notes)))


def import_available_bitrate(path: str | Path, stat: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times in s (n,), rising, and the browser's estimates of what it may send (n,), in bit/s.

    Raises:
        TraceError: as in `import_round_trips`.
    """
    path = Path(path)
    kind, field = _BITRATE
    stats = _stats(path, read_content(path))
    rates = {name: one.numbers(field) for name, one in stats.items() if one.kind == kind and field in one.fields}
    name = _chosen(path, f"{kind} with {field}", {name: len(found[0]) for name, found in rates.items()}, stat, stats)
    at_ms, bps = rates[name]
    return at_ms / 1e3, bps


def _probes(one: Stat, field: str, count: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times in ms and round trips in s of the reports with a new round trip."""
    at_ms, latest_s = one.numbers(field)
    at_ms, latest_s = at_ms[latest_s != 0.0], latest_s[latest_s != 0.0]  # 0 until the first
    counted_ms, counts = one.numbers(count)
    summed_ms, totals_s = one.numbers(_TOTAL)
    if not len(at_ms):
        return at_ms, latest_s
    if not np.isin(at_ms, counted_ms).all():  # without a count a new value is a new round trip
        new = np.append(True, np.diff(latest_s) != 0.0)
        return at_ms[new], latest_s[new]
    grown = np.diff(counts[np.isin(counted_ms, at_ms)], prepend=0.0)
    grown[0] = min(grown[0], 1.0)
    if np.isin(at_ms, summed_ms).all():
        several = grown > 1.0
        latest_s[several] = np.diff(totals_s[np.isin(summed_ms, at_ms)], prepend=0.0)[several] / grown[several]
    return at_ms[grown > 0.0], latest_s[grown > 0.0]


def _unanswered(one: Stat) -> str:
    sent = sum(float(values[-1]) for field in _REQUESTS if len(values := one.numbers(field)[1]))
    _, answered = one.numbers("responsesReceived")
    if not sent or not len(answered):
        return ""
    return f"{max(sent - answered[-1], 0.0):.0f} of {sent:.0f} requests unanswered, at unknown times"


def _chosen(path: Path, what: str, probes: dict[str, int], wanted: str | None, stats: dict[str, Stat]) -> str:
    """Return the name of the wanted object, or of the only one with values."""
    found = {name: n for name, n in probes.items() if n > 1}
    if wanted is None and len(found) > 1:
        nominated = [name for name in found if any(value is True for value in stats[name].fields.get("nominated", ([], []))[1])]
        found = {nominated[0]: found[nominated[0]]} if len(nominated) == 1 else found
    shown = ", ".join(f"{name} ({n} values)" for name, n in found.items())
    if not found:
        kinds = ", ".join(sorted({one.kind for one in stats.values()}))
        raise TraceError(path, what, "none with two values", f"at least one; this file has {kinds}")
    if wanted is None and len(found) > 1:
        raise TraceError(path, what, len(found), f"one, chosen by format.stat=ID: {shown}")
    if wanted is not None and wanted not in found:
        raise TraceError(path, "stat", wanted, shown)
    return next(iter(found)) if wanted is None else wanted


def _stats(path: Path, content: bytes) -> dict[str, Stat]:
    """Return the objects of all reports by id; those of a dump with several connections by connection and id."""
    stats: dict[str, Stat] = {}
    document = _document(path, content)
    connections = document.get("PeerConnections") if isinstance(document, dict) else None
    if isinstance(connections, dict):
        for connection, body in connections.items():
            for name, kind, field, at_ms, values in _series(path, body):
                key = name if len(connections) == 1 else f"{connection}/{name}"
                stats.setdefault(key, Stat(kind, {})).fields[field] = at_ms, values
    else:
        for report in _reports(document):
            fields = stats.setdefault(str(report["id"]), Stat(report["type"], {})).fields
            for field, value in report.items():
                at_ms, values = fields.setdefault(field, ([], []))
                at_ms.append(float(report["timestamp"]))
                values.append(value)
    if not stats:
        allowed = "a dump of chrome://webrtc-internals (PeerConnections, stats), or a list of reports of getStats with id, type, timestamp"
        raise TraceError(path, "content", "no statistics", allowed)
    return stats


def _document(path: Path, content: bytes) -> Any:
    """Return the JSON document, or a list of those of the lines."""
    try:
        try:
            return json.loads(content)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
            return [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise TraceError(path, "content", f"{type(error).__name__}: {error}", "JSON, or a JSON document a line") from error


def _reports(document: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of `getStats` in nested lists and objects, however a page arranged them."""
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and isinstance(one.get("type"), str) and "id" in one and _is_time(one.get("timestamp")):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _series(path: Path, body: Any) -> Iterator[tuple[str, str, str, list[float], list[Any]]]:
    """Yield id, kind, field, times in ms and values of each series of a connection in a dump of chrome://webrtc-internals."""
    stats = body.get("stats") if isinstance(body, dict) else None
    read: dict[str, tuple[str, list[float], list[Any]]] = {}
    for key, series in (stats if isinstance(stats, dict) else {}).items():
        try:
            values = series["values"]
            values = json.loads(values) if isinstance(values, str) else values
            ends_ms = [datetime.fromisoformat(series[end]).timestamp() * 1e3 for end in ("startTime", "endTime")]
            read[key] = str(series["statsType"]), ends_ms, list(values)
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(path, f"stats {key}", f"{type(error).__name__}: {error}", "statsType, startTime, endTime, values") from error
    for key, (kind, ends_ms, values) in read.items():
        name, _, field = key.rpartition("-")
        _, _, times = read.get(f"{name}-timestamp", ("", [], []))
        timed = len(times) == len(values) and all(map(_is_time, times))
        yield name, kind, field, times if timed else np.linspace(ends_ms[0], ends_ms[1], len(values)).tolist(), values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_time(value: Any) -> bool:
    return _is_number(value) and 0.0 <= value <= _MAX_MS
