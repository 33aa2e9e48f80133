"""Traces of AlphaRTC and OpenNetLab's gym: capacity, random loss and round trip of a link that change together, in JSON.

    {"uplink": {"trace_pattern": [{"duration": 60000, "capacity": 300, "loss": 0.02, "jitter": 0, "rtt": 100}, ...]}}

Durations, jitter and round trips are in milliseconds, capacity in kbit/s, loss is a share. As in the gym's player
(github.com/OpenNetLab/gym, trace_player.cc): an entry without loss or rtt keeps the one before, half of the round trip is the delay of each
way, a capacity of 0 loses everything, and the trace repeats. Before the first entry that names it, a loss is 0 and a round trip 0. That
player leaves jitter out; here it is played.
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from vcgym.network.bottleneck.capacity.capacity import MAX_LENGTH_US, MAX_RATE_BPS, CapacityTrace
from vcgym.network.bottleneck.capacity.files import MAX_JITTER_MS, MIN_BPS, RATE_BPS, conditions_of, repeating
from vcgym.network.traces.plain_file import parse_json
from vcgym.network.traces.reading import TraceError, read_content
from vcgym.network.traces.trace import MAX_DELAY_US

Direction = Literal["uplink", "downlink"]

_LARGEST = {
    "duration": MAX_LENGTH_US / 1e3, "capacity": MAX_RATE_BPS / 1e3, "loss": 1.0, "jitter": MAX_JITTER_MS, "rtt": 2.0 * MAX_DELAY_US / 1e3,
}  # fmt: skip
_FIELDS = {*_LARGEST, "time"}


def import_alphartc(path: Path, direction: Direction = "uplink", any_rate: bool = False) -> CapacityTrace:
    """Read the trace of one direction; delay, jitter and loss are those of the world if no entry names any.

    Args:
        path: the file.
        direction: uplink or downlink.
        any_rate: True: the median capacity may be any; otherwise it must be 50 kbit/s to 300 Mbit/s, so that another unit is noticed.

    Raises:
        TraceError: no JSON of this form, no entry, an entry without duration or capacity or with an unknown field, a value out of range.
    """
    content = read_content(path)
    document = parse_json(path, content)
    entries = _entries(path, document, direction)
    values = {name: _values(path, entries, name) for name in _LARGEST}
    for name in ("duration", "capacity"):
        if (missing := np.isnan(values[name])).any():
            raise TraceError(path, f"entry {np.argmax(missing) + 1} of trace_pattern, {name}", None, "a number")
    if (values["duration"] == 0.0).any():
        raise TraceError(path, f"entry {np.argmin(values['duration']) + 1} of trace_pattern, duration", 0, "above 0 ms")
    median_bps = 1e3 * float(np.median(values["capacity"]))
    if not any_rate and not MIN_BPS <= median_bps < RATE_BPS[1]:
        allowed = f"{MIN_BPS / 1e3:g} to {RATE_BPS[1] / 1e3:g}; is it in kbit/s? format.any_rate=true takes any"
        raise TraceError(path, "capacity, median in kbit/s", median_bps / 1e3, allowed)
    ends_s = np.cumsum(values["duration"]) / 1e3
    dead = values["capacity"] == 0.0
    delay_ms, jitter_ms, loss = (_kept(values[name]) for name in ("rtt", "jitter", "loss"))
    conditions = conditions_of(delay_ms / 2.0, jitter_ms, np.where(dead, 1.0, loss))
    named = dead.any() or any(np.isfinite(values[name]).any() for name in ("rtt", "jitter", "loss"))
    times_s = np.append(0.0, ends_s[:-1])
    name = path.name.split(".")[0]
    return repeating(name, times_s, values["capacity"] * 1e3, path, conditions if named else None, float(ends_s[-1]))


def _entries(path: Path, document: dict[str, Any], direction: str) -> list[Any]:
    patterns = {name: part.get("trace_pattern") for name in ("uplink", "downlink") if isinstance(part := document.get(name), dict)}
    if "trace_pattern" in document:
        patterns["uplink"] = document["trace_pattern"]
    entries = patterns.get(direction)
    if not isinstance(entries, list) or not entries:
        there = [name for name, found in patterns.items() if isinstance(found, list) and found]
        hint = f"; this file has one with format.direction={there[0]}" if there else ""
        raise TraceError(path, f"trace_pattern of {direction}", entries, f"a list of entries{hint}")
    for at, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not entry.keys() <= _FIELDS:
            found = sorted(entry.keys() - _FIELDS) if isinstance(entry, dict) else entry
            raise TraceError(path, f"entry {at} of trace_pattern", found, f"an object with fields of {', '.join(sorted(_FIELDS))}")
    return entries


def _values(path: Path, entries: list[Any], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values of one field, float64 (entries,); NaN where an entry has none."""
    found = np.full(len(entries), np.nan)
    for at, entry in enumerate(entries):
        value = entry.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= _LARGEST[name]:
            raise TraceError(path, f"entry {at + 1} of trace_pattern, {name}", value, f"a number from 0 to {_LARGEST[name]:.15g}")
        found[at] = value
    return found


def _kept(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return values (n,) of which a missing one is the one before, and 0 before the first."""
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(last < 0, 0.0, values[last])
