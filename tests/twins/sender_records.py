"""Rate and SendOrder with records as observations, read from the state of the batch: what a rule outside the loop needs."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback
from vcgym.envs.call.features.layout import ObservationLayout, ObservationPart
from vcgym.envs.call.sender.events import is_done
from vcgym.envs.call.sender.in_flight import LOST, ring_index
from vcgym.envs.environments.rate import RateVectorEnv
from vcgym.envs.environments.send_order import SendOrderVectorEnv
from vcgym.network.bottleneck.send_queue import item_at
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

FEEDBACK_ROWS = 2048
_LATEST = np.iinfo(np.int64).max
WITH_RECORDS = {"vcgym/Rate-v1": "twins/Rate-v1", "vcgym/SendOrder-v1": "twins/SendOrder-v1"}
"""Id of an environment -> id of the same with records."""


def _layout(**parts: spaces.Box) -> ObservationLayout:
    return ObservationLayout(*(ObservationPart(name, box=space) for name, space in parts.items()))


class RateRecords(RateVectorEnv):
    """Rate with the packet feedback since the last decision (2048, 6), in the order of `PacketFeedback`, its count, start, minimum and
    maximum rate in bit/s as the history (1, 3), a key and now_us.
    """

    def _layout(self) -> ObservationLayout:
        self._reported = np.zeros(self.batch.sessions, np.int64)
        return _layout(
            count=spaces.Box(0, FEEDBACK_ROWS, (), np.int64),
            history=spaces.Box(0.0, 1e9, (1, 3), np.float64),
            key=spaces.Box(0, np.iinfo(np.uint64).max, (), np.uint64),
            now_us=spaces.Box(0, _LATEST, (), np.int64),
            records=spaces.Box(-1, _LATEST, (FEEDBACK_ROWS, len(PacketFeedback._fields)), np.int64),
        )

    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        super()._reset_row(row, seed, **options)
        self._reported[row] = 0

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        shown["history"][rows] = batch.history[rows]
        shown["key"][rows] = [batch.key(row) for row in rows]
        shown["now_us"][rows] = batch.senders["now_us"][rows]
        shown["records"][rows] = 0
        _show_feedback(batch.senders, batch.tables.flight, rows, self._reported, shown["records"], shown["count"])


class SendOrderRecords(SendOrderVectorEnv):
    """SendOrder with the queue (L, 5) as created_us, expires_us, size_bytes, kind (0 video, 1 audio), frame; its count, now_us and the
    smoothed round trip rtt_us (0: no report yet).
    """

    def _layout(self) -> ObservationLayout:
        return _layout(
            count=spaces.Box(0, self.slots, (), np.int64),
            now_us=spaces.Box(0, _LATEST, (), np.int64),
            records=spaces.Box(0, _LATEST, (self.slots, 5), np.int64),
            rtt_us=spaces.Box(0, _LATEST, (), np.int64),
        )

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        senders = self.batch.senders
        shown["now_us"][rows] = senders["now_us"][rows]
        shown["rtt_us"][rows] = senders["rtt_us"][rows].astype(np.int64)
        shown["records"][rows] = 0
        _show_queue(senders, rows, shown["records"], shown["count"])


for _id, _class in (("vcgym/Rate-v1", RateRecords), ("vcgym/SendOrder-v1", SendOrderRecords)):
    gymnasium.register(WITH_RECORDS[_id], vector_entry_point=_class, kwargs={"observation": "dict"})


@kernel
def _show_feedback(senders, flight, which, reported, records, count):
    for s in which:
        sender = senders[s]
        count[s] = 0
        first, reported[s] = reported[s], sender.reported
        if is_done(sender):  # outcomes counted at the end were never reported
            continue
        for packet in range(first, sender.reported):
            index, row = ring_index(packet), records[s, count[s]]
            arrived_us = flight.arrived_us[s, index]
            row[0], row[1], row[2] = packet, flight.size_bytes[s, index], flight.sent_us[s, index]
            row[3], row[4] = arrived_us if arrived_us != LOST else NOT_ARRIVED, sender.now_us
            row[5] = flight.marked[s, index]
            count[s] += 1


@kernel
def _show_queue(senders, which, records, count):
    for s in which:
        queue = senders[s].queue
        count[s] = queue.waiting
        for i in range(queue.waiting):
            item, row = item_at(queue, i), records[s, i]
            row[0], row[1], row[2], row[3], row[4] = item.created_us, item.expires_us, item.size_bytes, item.kind, item.frame


def feedback_at_location(envs: Any, first: int) -> NDArray[np.int64]:
    """Return the packet feedback from packet `first` on that has come to the location of the agent of the only call with an uplink."""
    uplink, slot = envs.uplink.inside, int(envs.batch.calls["slot"][0])
    flight, departures = uplink.tables.flight, uplink.tables.departures
    now_us, rows = (slot - int(uplink.remote["status_slots"][0])) * SLOT_US, []
    for packet in range(first, int(uplink.senders["reported"][0])):
        at = 0, packet & (flight.sent_us.shape[1] - 1)
        if departures.known_us[at] > now_us:
            break
        fate = departures.reported_us[at], departures.known_us[at], flight.marked[at]
        rows.append((packet, flight.size_bytes[at], flight.sent_us[at], *fate))
    return np.array(rows, np.int64).reshape(-1, len(PacketFeedback._fields))
