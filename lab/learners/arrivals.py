"""Arrivals recorded while given routers choose the paths: the training set of a learned lag.

Arrivals do not depend on the receiver unless a router reads its lag, so features are computed only once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import WIDTH, Arm, Arrivals, take_arrival
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA, Record
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US


class RecordedArrivals(NamedTuple):
    """Arrivals of calls (n, packets), each call in order of arrival; entries from index `arrived` on are unused.

    Attributes:
        features: float32 (n, packets, WIDTH).
        delay_ms: float64 of each packet.
        newest_ms: float64, delay of the arrived packet with the latest sent time.
        passed_ms: float64, time since the last arrival.
        overtaken: bool, true if a newer packet arrived earlier.
        arrived: int64 (n,), number of arrivals.
        packets: length of the calls in packets.
    """

    features: NDArray[np.float32]
    delay_ms: NDArray[np.float64]
    newest_ms: NDArray[np.float64]
    passed_ms: NDArray[np.float64]
    overtaken: NDArray[np.bool_]
    arrived: NDArray[np.int64]
    packets: int


def record_arrivals(calls: TrainingCalls, router: Any, receiver: Any) -> RecordedArrivals:
    """Play all calls and return their arrivals."""
    batch = calls.play(router, receiver, log=True)
    log, n, packets = batch.tables.log, len(calls), calls.scenario.packets
    shape = n, packets
    found = RecordedArrivals(
        np.zeros((*shape, WIDTH), np.float32), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_),
        np.zeros(n, np.int64), packets,
    )  # fmt: skip
    arms = records(Arm, n, batch.history.shape[1])
    arms.mean_ms, arms.sd_ms = batch.history[..., 1], batch.history[..., 2]
    for s in range(n):
        # Packets with equal arrival times arrive in sending order: the queue in flight is stable.
        order = np.argsort(log["arrived_us"][s], kind="stable")
        order = order[log["arrived_us"][s][order] >= 0]
        arrived_us, path = log["arrived_us"][s][order], log["path"][s][order].astype(np.int64)
        found.arrived[s] = order.size
        _features(records(JitterWindow, 1)[0], records(Arrivals, 1)[0], arms[s], order, arrived_us, path, s, found)
    return found


@kernel
def _features(window, seen, arms, packet, arrived_us, path, s, found):
    for i in range(packet.size):
        sent_us = packet[i] * SLOT_US
        record = Record(MEDIA, packet[i], path[i], sent_us, arrived_us[i], arrived_us[i], 0, 0)
        found.overtaken[s, i] = sent_us < seen.newest_us
        found.passed_ms[s, i] = (arrived_us[i] - seen.arrived_us) / 1000.0 if i > 0 else 0.0
        jitter_us = max(0, accumulated_jitter(window, sent_us, arrived_us[i]))
        take_arrival(seen, arms, record, jitter_us, found.features[s, i])
        found.delay_ms[s, i] = (arrived_us[i] - sent_us) / 1000.0
        found.newest_ms[s, i] = seen.delay_ms
