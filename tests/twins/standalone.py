"""A rule of the playout alone, before the queue of a call's receiver, on a list of packets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import allocate, buffer_type, decide, start, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records
from vcgym.network.playout.receiver import Receiver, accept, flush, is_late

_EMITTED = np.dtype((np.record, [("emitted_us", "i8"), ("flushed", "?")]))


class Emissions(NamedTuple):
    """Arrays with one entry per packet, in order of arrival."""

    level_us: NDArray[np.int64]  # lag or target in force after the arrival
    emitted_us: NDArray[np.int64]  # -1 for a late packet, or one behind a newer one
    late: NDArray[np.bool_]  # the same
    flushed: NDArray[np.bool_]  # emitted only at the end of the list


def levels(params: Any, sent_us: ArrayLike, arrived_us: ArrayLike, packet_us: int = 10_000) -> NDArray[np.int64]:
    """Return the lag or target (us, int64) after each arrival; see `emissions` for the arguments."""
    return emissions(params, sent_us, arrived_us, packet_us).level_us


def emissions(params: Any, sent_us: ArrayLike, arrived_us: ArrayLike, packet_us: int = 10_000) -> Emissions:
    """Run a rule over packets given in order of arrival; it learns from late ones too, but its decision then has no effect.

    Args:
        params: a rule of the playout, such as `WMJitter()`.
        sent_us: (packets,) int64 sent times below 4096 packet intervals.
        arrived_us: (packets,) int64 arrival times, never decreasing. Lost packets are not in the list.
        packet_us: packet interval, which numbers the packets.
    """
    sent, arrived = np.asarray(sent_us, np.int64), np.asarray(arrived_us, np.int64)
    log, level_us = np.zeros((1, sent.max() // packet_us + 1), _EMITTED).view(np.recarray), np.empty(sent.size, np.int64)
    log.emitted_us = -1
    state = allocate(params, 1, 1)
    start(params, state, np.ones(1, np.bool_), np.zeros((1, 1, 3)), np.zeros(1, np.uint64))
    _receive(params, state, records(Receiver, 1), sent, arrived, packet_us, level_us, log)
    found = log[0, sent // packet_us]
    return Emissions(level_us, found.emitted_us, found.emitted_us < 0, found.flushed)


@kernel
def _receive(params, state, receivers, sent_us, arrived_us, packet_us, level_us, log):
    receiver, mechanism = receivers[0], buffer_type(params)
    receiver.level_us = decide(params, state, 0, 0)
    for i in range(sent_us.size):
        packet = sent_us[i] // packet_us
        late = 1 if is_late(receiver, packet, mechanism, packet_us) else 0
        update(params, state, 0, Record(MEDIA, packet, 0, sent_us[i], arrived_us[i], arrived_us[i], receiver.level_us, late))
        level_us[i] = decide(params, state, 0, arrived_us[i])
        receiver.level_us = level_us[i]
        accept(receiver, log, 0, packet, arrived_us[i], level_us[i], mechanism, packet_us)
    receiver.last_arrival_us = arrived_us[-1]
    flush(receiver, log, 0, log.shape[1], packet_us)
