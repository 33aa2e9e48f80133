"""libwebrtc's hybrid of retransmission and parity (media_opt_util.cc, fec_controller_default.cc, ulpfec_generator.cc), for a call of voice.

    NACK   always, as in `Nack`
    FEC    while the round trip is 200 ms or more: after each six frames as many repair packets as the loss asks for, at least one if any
    loss   the largest loss in a second of the last ten, in 255ths, as receiver reports give it

A table (fec_rate_table.h, figures of an offline model of XOR codes) gives the share x of repair packets in all packets by bits of a frame
and loss, in 255ths. Each packet is a frame. A voice frame of 10 to 40 ms at 64 kbit/s has 0.6 to 2.6 kbit, so the first row of the table
counts and no resolution scales it; it gives nothing below 33 of 255, 12.9 % of loss. A loss above half counts as half. The rule that a
frame of several packets has at least 51 does not apply, and no frame is a key frame. Frames below 400 bytes have no FEC while
retransmission takes less than 200 ms.

Left out: packet masks, here any k of the k + r packets give all. A repair packet takes a slot of its own after its frames.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import protect, protection
from vcgym.baselines.protection.retransmission import NACK, clear_requests, requested, see_gaps
from vcgym.baselines.protection.seen_loss import REPORTS, SECOND_US, clear_reports, count_arrival, end_second, reported_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

FRAMES = 6  # of a block: twice the frame rate times the round trip, at most 6
_REQUESTS = 10
_HALF_255 = 128  # largest loss that counts, in 255ths
_SHARES_255 = ((0, 0), (33, 11), (48, 39), (96, 51))  # losses at which the share changes, and the share from there on
_SECONDS = 10  # whose largest loss counts

WEBRTC_FEC = np.dtype((np.record, [*REPORTS, ("losses", "f8", (_SECONDS,)), ("repair", "i8")]))


def repairs_by_loss() -> NDArray[np.int64]:
    """Return the repair packets of six frames by loss in 255ths, 0 to 128.

    Relative to the packets of the frames a share x is 255 x / (255 - x), the factor, in 256ths of which the repair packets are rounded; a
    factor above 0 gives one at least.
    """
    repairs = np.zeros(_HALF_255 + 1, np.int64)
    for loss, share in _SHARES_255:
        factor = int(0.5 + 255.0 * share / (255.0 - share))
        repairs[loss:] = max((FRAMES * factor + 128) >> 8, 1 if factor > 0 else 0)
    return repairs


@rule(Control.PROTECTION)
class WebrtcFec(NamedTuple):
    """Parameters: smallest round trip with repair packets, packet interval."""

    from_ms: float = 200.0
    packet_ms: float = 10.0


class WebrtcFecState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of WEBRTC_FEC
    requests: np.recarray  # (sessions,) of NACK
    repairs: NDArray[np.int64]  # by loss in 255ths


@allocate.register(WebrtcFec)
def _allocate(params, sessions, paths):
    require_within(params, from_ms=(0.0, 1e9), packet_ms=PACKET_MS_RANGE)
    rows, requests = np.zeros(sessions, WEBRTC_FEC).view(np.recarray), np.zeros(sessions, NACK).view(np.recarray)
    return WebrtcFecState(rows, requests, repairs_by_loss())


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
        row.losses[row.second % _SECONDS] = reported_loss(row, 1)
        end_second(row)
    newest = packet_at(now_us, params.packet_ms)
    behind = newest % FRAMES + 1
    if behind == 1:
        worst = 0.0
        for loss in row.losses:
            worst = max(worst, loss)
        # Receiver reports have the loss in 256ths, cut off (RFC 3550, 6.4.1), and the source takes these for 255ths.
        repair = state.repairs[min(np.int64(256.0 * worst), _HALF_255)]
        row.repair = repair if newest >= FRAMES and requests.rtt_us >= 1000.0 * params.from_ms else 0
    again = requested(requests, _REQUESTS, newest, now_us)
    return protection(again=again, path=path, covers=FRAMES if behind <= row.repair else 0, behind=behind)
