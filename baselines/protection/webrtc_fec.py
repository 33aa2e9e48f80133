"""libwebrtc's hybrid of retransmission and parity (media_opt_util.cc, fec_controller_default.cc, ulpfec_generator.cc), for a call of voice.

    NACK   always, as in `Nack`
    FEC    while the round trip is 200 ms or more: after each six frames as many repair packets as the loss asks for, at least one if any
    loss   the largest loss in a second of the last ten, in 255ths, as receiver reports give it

Each packet is a frame. The table of rates (fec_rate_table.h) has 50 rows by kbit per frame, in steps of 5. A voice frame of 10 to 40 ms
at 64 kbit/s has 0.6 to 2.6, so the first row counts and no resolution scales it; it gives nothing below 33 of 255, 12.9 % of loss. The
share x that the row gives, in 255ths of all packets, becomes 255 x / (255 - x) of the frames. The rule that a frame of several packets has
at least 51 does not apply, and no frame is a key frame. Frames below 400 bytes have no FEC while retransmission takes less than 200 ms.

Left out: packet masks, here any k of the k + r packets give all. A repair packet takes a slot of its own after its frames.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.protection.nack import NACK, clear_requests, requested, see_gaps
from vcgym.baselines.protection.protect import NONE, Protection, protect
from vcgym.baselines.protection.seen_loss import REPORTS, SECOND_US, clear_reports, count_arrival, end_second, reported_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

FRAMES = 6  # of a block: twice the frame rate times the round trip, at most 6
_WORST = 10  # seconds whose largest loss counts
_REQUESTS = 10
_FIRST_ROW = ((33, 11), (48, 39), (96, 51))  # loss in 255ths from which on, share of all packets in 255ths

WEBRTC_FEC = np.dtype((np.record, [*REPORTS, ("losses", "f8", (_WORST,)), ("repair", "i8")]))


def repair_of(loss_255: int) -> int:
    """Return the repair packets of six frames at a loss in 255ths."""
    share = max((x for least, x in _FIRST_ROW if loss_255 >= least), default=0)
    factor = min(255, int(0.5 + 255.0 * share / (255 - share)))
    return max(FRAMES * factor + 128 >> 8, int(share > 0))


_REPAIR = tuple((least, repair_of(least)) for least, _ in _FIRST_ROW)


@rule(Control.PROTECTION)
class WebrtcFec(NamedTuple):
    """Parameters: smallest round trip with repair packets, packet interval."""

    from_ms: float = 200.0
    packet_ms: float = 10.0


class WebrtcFecState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of WEBRTC_FEC
    requests: np.recarray  # (sessions,) of NACK


@allocate.register(WebrtcFec)
def _allocate(params, sessions, paths):
    require_within(params, from_ms=(0.0, 1e9), packet_ms=PACKET_MS_RANGE)
    return WebrtcFecState(np.zeros(sessions, WEBRTC_FEC).view(np.recarray), np.zeros(sessions, NACK).view(np.recarray))


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


@kernel
def _repair(row):
    """Return the repair packets of the last six frames by the largest loss, int64."""
    loss, repair = 0.0, 0
    for second in range(_WORST):
        loss = max(loss, row.losses[second])
    for least, packets in _REPAIR:
        repair = packets if np.int64(255.0 * loss) >= least else repair
    return repair


@protect.register(WebrtcFec)
def _protect(params, state, s, now_us, path):
    row, requests = state.rows[s], state.requests[s]
    if now_us >= (row.second + 1) * SECOND_US:
        row.losses[row.second % _WORST] = reported_loss(row, 1)
        end_second(row)
    newest = packet_at(now_us, params.packet_ms)
    behind = newest % FRAMES + 1
    if behind == 1:
        row.repair = _repair(row) if newest >= FRAMES and requests.rtt_us >= 1000.0 * params.from_ms else 0
    again = requested(requests, _REQUESTS, newest, now_us)
    return Protection(0, again, path, NONE, FRAMES if behind <= row.repair else 0, behind)
