"""libwebrtc's hybrid of retransmission and parity (media_opt_util.cc, fec_controller_default.cc, ulpfec_generator.cc), for a call of voice.

    NACK   always, as in `Nack`
    FEC    while the round trip is 200 ms or more: after each six frames as many repair packets as the loss asks for, at least one if any
    loss   the largest loss in a second of the last ten, in 255ths, as receiver reports give it

Each packet is a frame. A voice frame of 10 to 40 ms at 64 kbit/s has 0.6 to 2.6 kbit, so the first row of the table counts
(vcgym.baselines.protection.webrtc_rates) and no resolution scales it; it gives nothing below 33 of 255, 12.9 % of loss. The rule that a
frame of several packets has at least 51 does not apply, and no frame is a key frame. Frames below 400 bytes have no FEC while
retransmission takes less than 200 ms.

Left out: packet masks, here any k of the k + r packets give all. A repair packet takes a slot of its own after its frames.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.nack import NACK, clear_requests, requested, see_gaps
from vcgym.baselines.protection.protect import NONE, Protection, protect
from vcgym.baselines.protection.seen_loss import REPORTS, SECOND_US, clear_reports, count_arrival, end_second, reported_loss
from vcgym.baselines.protection.webrtc_rates import LOSSES, WORST, factor_of, repair_packets, webrtc_shares, worst_255
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

FRAMES = 6  # of a block: twice the frame rate times the round trip, at most 6
_REQUESTS = 10

WEBRTC_FEC = np.dtype((np.record, [*REPORTS, ("losses", "f8", (WORST,)), ("repair", "i8")]))


def repairs_by_loss() -> NDArray[np.int64]:
    """Return the repair packets of six frames, (LOSSES,) by loss in 255ths."""
    return np.array([repair_packets(FRAMES, factor_of(share)) for share in webrtc_shares()[0]], np.int64)


@rule(Control.PROTECTION)
class WebrtcFec(NamedTuple):
    """Parameters: smallest round trip with repair packets, packet interval."""

    from_ms: float = 200.0
    packet_ms: float = 10.0


class WebrtcFecState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of WEBRTC_FEC
    requests: np.recarray  # (sessions,) of NACK
    repairs: NDArray[np.int64]  # (sessions, LOSSES)


@allocate.register(WebrtcFec)
def _allocate(params, sessions, paths):
    require_within(params, from_ms=(0.0, 1e9), packet_ms=PACKET_MS_RANGE)
    rows, requests = np.zeros(sessions, WEBRTC_FEC).view(np.recarray), np.zeros(sessions, NACK).view(np.recarray)
    return WebrtcFecState(rows, requests, np.broadcast_to(repairs_by_loss(), (sessions, LOSSES)))


@init.register(WebrtcFec)
def _init(params, state, s, start, key):
    row = state.rows[s]
    clear_reports(row)
    clear_requests(state.requests[s])
    row.losses[:] = 0.0
    row.repair = 0


@update.register(WebrtcFec)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        count_arrival(state.rows[s], record.packet)
    if record.kind in (MEDIA, COPY):
        see_gaps(state.requests[s], record)


@protect.register(WebrtcFec)
def _protect(params, state, s, now_us, path):
    row, requests = state.rows[s], state.requests[s]
    if now_us >= (row.second + 1) * SECOND_US:
        row.losses[row.second % WORST] = reported_loss(row, 1)
        end_second(row)
    newest = packet_at(now_us, params.packet_ms)
    behind = newest % FRAMES + 1
    if behind == 1:
        row.repair = state.repairs[s, worst_255(row.losses)] if newest >= FRAMES and requests.rtt_us >= 1000.0 * params.from_ms else 0
    again = requested(requests, _REQUESTS, newest, now_us)
    return Protection(0, again, path, NONE, FRAMES if behind <= row.repair else 0, behind)
