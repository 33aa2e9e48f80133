"""Results of `irtt client -o FILE`, JSON: round trips, delays of each direction, and losses by direction.

A one-way delay is the difference of two hosts' clocks, so it is known up to their offset and its drift. The drift is found as in the logs
of RTP (`drift`); the offset is taken as that with which the smallest delays of both directions, without the drift, are equal (the
assumption of NTP, RFC 5905, section 8).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.importers.drift import KeptDrift, drift_of
from vcgym.network.traces.reading import TraceError, read_content
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_PROBES, MAX_SPAN_US, MAX_TIME_US, Trace

Delay = Literal["rtt", "send", "receive"]
Offset = Literal["remove", "keep"]

_ROUND_TRIPS = re.compile(r'"round_trips"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_LOST = {"false": "", "true": "somewhere", "true_up": "up", "true_down": "down"}
_LOST_IN = {"rtt": ("somewhere", "up", "down"), "send": ("somewhere", "up"), "receive": ("somewhere", "down")}
_MAX_NS = MAX_TIME_US * 1e3


class _RoundTrips(NamedTuple):
    """Round trips in order of sending, arrays (n,); delays in ns, NaN where there is none."""

    sent_ns: NDArray[np.float64]
    lost: NDArray[np.str_]
    rtt: NDArray[np.float64]
    send: NDArray[np.float64]
    receive: NDArray[np.float64]


def import_irtt(
    path: str | Path,
    *,
    delay: Delay = "rtt",
    offset: Offset = "remove",
    drift: KeptDrift = "remove",
) -> Trace:
    """Read a trace from the JSON of `irtt client`, plain, .gz or .xz.

    Args:
        path: the file.
        delay: rtt: round trips, which one clock measures; send or receive: one-way delays to the server or from it. Those need stamps of
            the server. Their losses are those of the direction, and those of which irtt does not know the direction; a packet lost in the
            other direction has no delay in this one and is left out.
        offset: remove: correct one-way delays by the offset of the two clocks; keep: both clocks show one time, such as that of GPS, and
            so have no drift.
        drift: remove that of the two clocks, if one is found, or keep it in one-way delays.

    Returns:
        The trace, in order of sending; `notes` has the losses by direction, the offset and the drift.

    Raises:
        TraceError: an unreadable or truncated file, a round trip without a number or time, a value out of range, no such delays.
    """
    path = Path(path)
    content = read_content(path)
    trips, start_us = _read(path, content)
    name, card = path.name.split(".")[0], card_beside(path, content)
    del content
    notes = [f"lost {', '.join(f'{where} {count:,}' for where, count in _counts(trips.lost).items())}"] * bool(_counts(trips.lost))
    delay_ns = getattr(trips, delay)
    if not np.isfinite(delay_ns).any():
        raise TraceError(path, f"number of round trips with a {delay} delay", 0, "at least 1; the server must send stamps (--tstamp=both)")
    of_clocks: list[str] = []
    if np.isfinite(trips.receive if delay == "receive" else trips.send).any():
        delay_ns, of_clocks = _on_one_clock(trips, delay, offset, "keep" if offset == "keep" else drift)
    notes += of_clocks
    is_lost = np.isin(trips.lost, _LOST_IN[delay])
    known = is_lost | np.isfinite(delay_ns)
    if absent := int(np.count_nonzero(~known)):
        notes.append(f"left out without a {delay} delay: {absent:,}")
    delay_us = np.where(is_lost, LOST, np.rint(np.nan_to_num(delay_ns) / 1e3)).astype(np.int64)[known]
    sent_us = np.rint((trips.sent_ns[known] - trips.sent_ns[known][0]) / 1e3).astype(np.int64)
    hint = "" if delay == "rtt" else "; clocks that are apart need format.offset=remove"
    _refuse_outside(path, f"{delay} delay in us", delay_us, np.flatnonzero(known), f"0 to {MAX_DELAY_US}{hint}", MAX_DELAY_US)
    _refuse_outside(path, "us after the first", sent_us, np.flatnonzero(known), f"at most {MAX_SPAN_US}", MAX_SPAN_US)
    start_us += round(float(trips.sent_ns[known][0] - trips.sent_ns[0]) / 1e3)
    return replace(Trace(name, sent_us, delay_us, card, delay == "rtt", start_us), notes=tuple(notes))


def _on_one_clock(trips: _RoundTrips, delay: Delay, offset: Offset, drift: KeptDrift) -> tuple[NDArray[np.float64], list[str]]:
    """Return the delays (n,) as two clocks that agree would show them, and what was found of the two, in words."""
    ways = (trips.receive, trips.send) if delay == "receive" else (trips.send, trips.receive)
    known = np.isfinite(ways[0])
    found = drift_of(*(np.rint(one[known] / 1e3).astype(np.int64) for one in (trips.sent_ns, ways[0])))
    rise_ns = 1e-6 * found.ppm * found.is_of_clocks * (trips.sent_ns - trips.sent_ns[0])
    there_ns, back_ns = ways[0] - rise_ns, ways[1] + rise_ns
    one_way_ns = ways[0] if delay != "rtt" and drift == "keep" else there_ns
    notes = []
    if np.isfinite(back_ns).any():
        apart_ns = np.nanmin(one_way_ns) - (np.nanmin(there_ns) + np.nanmin(back_ns)) / 2.0
        removed = delay != "rtt" and offset == "remove"
        ahead_ms = (-apart_ns if delay == "receive" else apart_ns) / 1e6
        notes.append(f"the server's clock is {ahead_ms:+.6g} ms off if both directions are as fast{', removed' * removed}")
        one_way_ns = one_way_ns - apart_ns * removed
    return (trips.rtt, notes) if delay == "rtt" else (one_way_ns, [*notes, found.describe(drift)])


def _read(path: Path, content: bytes) -> tuple[_RoundTrips, int]:
    """Return the round trips, and the time of the first since 1970 in microseconds (0 if the file has no such time)."""
    rows = [_row(path, number, trip) for number, trip in enumerate(_objects(path, content))]
    if not rows:
        raise TraceError(path, "number of round trips", 0, "at least 1")
    numbers, monotonic_ns, wall_ns, lost, *delays = (np.array(column) for column in zip(*rows, strict=True))
    order = np.argsort(numbers, kind="stable")
    if (np.diff(numbers[order]) == 0).any():
        at = int(numbers[order][:-1][np.diff(numbers[order]) == 0][0])
        raise TraceError(path, "round_trips, seqno", at, "each number once")
    sent_ns = wall_ns if np.isnan(monotonic_ns).any() else monotonic_ns
    sent_ns = sent_ns[order]
    wrong = np.isnan(sent_ns) | (np.append(0.0, np.diff(sent_ns)) < 0.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        where = f"round_trips, seqno {numbers[order][at]}, client send"
        raise TraceError(path, where, float(sent_ns[at]), "a wall or monotonic time in ns, not before that of the last number")
    first_us = wall_ns[order][0] / 1e3
    return _RoundTrips(sent_ns, lost[order], *(column[order] for column in delays)), 0 if np.isnan(first_us) else round(first_us)


def _objects(path: Path, content: bytes) -> Iterator[Any]:
    """Yield the round trips one by one: all at once would take ten times the memory of the text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(path, "content", f"{type(error).__name__}: {error}", "UTF-8 text") from error
    if not (begin := _ROUND_TRIPS.search(text)):
        raise TraceError(path, "round_trips", None, "a list, as irtt client -o FILE.json writes it")
    decoder, at, number = json.JSONDecoder(), begin.end(), 0
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        if text[at : at + 1] == "]":
            return
        try:
            trip, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            allowed = "a JSON object; the file may have been cut off"
            raise TraceError(path, f"round_trips, entry {number}", f"{type(error).__name__}: {error}", allowed) from error
        yield trip
        number += 1
        if number > MAX_PROBES:
            raise TraceError(path, "number of round trips", f"more than {MAX_PROBES}", f"at most {MAX_PROBES}")


def _row(path: Path, number: int, trip: Any) -> tuple[Any, ...]:
    """Return seqno, monotonic and wall time of sending, direction of a loss, and the three delays of a round trip."""

    def at(*keys: str) -> float:
        value = trip
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return np.nan
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_MAX_NS <= value <= _MAX_NS:
            raise TraceError(path, f"round_trips, entry {number}, {'.'.join(keys)}", value, f"a number of ns up to {_MAX_NS:g}")
        return float(value)

    lost = str(trip.get("lost")).lower() if isinstance(trip, dict) else "None"
    seqno = at("seqno")
    if lost not in _LOST:
        raise TraceError(path, f"round_trips, entry {number}, lost", lost, ", ".join(_LOST))
    if np.isnan(seqno) or seqno % 1:
        raise TraceError(path, f"round_trips, entry {number}, seqno", None if np.isnan(seqno) else seqno, "a whole number")
    sent = ("timestamps", "client", "send")
    delays = [at("delay", one) for one in ("rtt", "send", "receive")]
    return int(seqno), at(*sent, "monotonic"), at(*sent, "wall"), _LOST[lost], *(delays if lost == "false" else [np.nan] * 3)


def _counts(lost: NDArray[np.str_]) -> dict[str, int]:
    return {where: count for where in ("up", "down", "somewhere") if (count := int(np.count_nonzero(lost == where)))}


def _refuse_outside(path: Path, where: str, values_us: NDArray[np.int64], at: NDArray[np.int64], allowed: str, high_us: int) -> None:
    wrong = (values_us != LOST) & ((values_us < 0) | (values_us > high_us))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise TraceError(path, f"round trip {at[first]}, {where}", int(values_us[first]), allowed)
