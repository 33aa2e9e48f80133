"""Bounds of what indexes arrays in calls over paths, for a state that comes from a file: compiled code checks no index."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import Record
from vcgym.envs.call.paths.feed import COMMANDS_UNDER_WAY, RECORDS
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.in_flight import SLOTS

_NODES = 2 * SLOTS
_LAST_SLOT = 1 << 40


def require_in_bounds(calls: NDArray[Any], answers: NDArray[Any], packets: int, paths: int, windows: int, probes: int) -> None:
    """Refuse calls with an index outside its array, or packets in flight that follow each other in a ring.

    Args:
        calls: (sessions,) CALL.
        answers: (sessions,) ANSWER.
        packets: length of the calls.
        paths: how many there are.
        windows: length of the windows of a call.
        probes: length of the schedule of probes.

    Raises:
        ValueError: naming field, value and allowed range.
    """
    bounds = {
        "slot": _LAST_SLOT, "packets": packets, "phase": 3, "waiting_node": _NODES - 1, "probe_turn": max(probes - 1, 0),
        "in_flight.count": _NODES, "in_flight.next_node": _NODES - 1, "in_flight.head": _NODES - 1, "in_flight.path": paths - 1,
        "counters.window": windows, "counters.last_path": paths - 1, "to_sender.value": paths - 1, "to_sender.latest": paths - 1,
        "to_sender.in_force": paths - 1,
    }  # fmt: skip
    or_none = ("waiting_node", "in_flight.next_node", "in_flight.head", "counters.last_path")
    for name, high in bounds.items():
        _require(name, _field(calls, name), -1 if name in or_none else 0, high)
    _require("answers.path", answers["path"], 0, paths - 1)
    _require("block", calls["block"], 0, calls["slot"] // BLOCK_SLOTS)
    for ring, size in (("feed", RECORDS), ("to_sender", COMMANDS_UNDER_WAY), ("to_receiver", COMMANDS_UNDER_WAY)):
        _require(f"{ring}.written", calls[ring]["written"], 0, _LAST_SLOT)
        _require(f"{ring}.read", calls[ring]["read"], calls[ring]["written"] - size, calls[ring]["written"])
    _require("feed.rows.path", calls["feed"]["rows"][..., Record._fields.index("path")], -1, paths - 1)
    _require_ends(calls["in_flight"][calls["packets"] > 0])  # a call that has not begun has no buckets


def _field(calls: NDArray[Any], name: str) -> NDArray[Any]:
    found = calls
    for part in name.split("."):
        found = found[part]
    return found


def _require(name: str, values: NDArray[Any], low: Any, high: Any) -> None:
    wrong = (values < low) | (values > high)
    if wrong.any():
        ends = [np.broadcast_to(end, values.shape)[wrong][0] for end in (low, high)]
        raise ValueError(f"state of calls: {name} is {values[wrong][0]}; allowed: {ends[0]} to {ends[1]}")


def _require_ends(in_flight: NDArray[Any]) -> None:
    """Refuse lists of a bucket, one node after the other, that do not end: all are followed at once, as far as there are nodes."""
    nodes = in_flight["head"].astype(np.int64)
    for _ in range(_NODES):
        if (nodes < 0).all():
            return
        nodes = np.where(nodes < 0, nodes, np.take_along_axis(in_flight["next_node"].astype(np.int64), np.maximum(nodes, 0), axis=1))
    raise ValueError(f"state of calls: packets in flight follow each other in a ring; allowed: at most {_NODES} of them")
