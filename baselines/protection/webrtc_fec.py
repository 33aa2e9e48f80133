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

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import protection
from vcgym.baselines.protection.retransmission import Requests, requested, see_gaps
from vcgym.baselines.protection.seen import SECOND_US, Reports, count_arrival, end_second, reported_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Table, record, rule
from vcgym.network.kernels.slots import packet_at

FRAMES = 6  # of a block: twice the frame rate times the round trip, at most 6
_REQUESTS = 10
_HALF_255 = 128  # largest loss that counts, in 255ths
_SHARES_255 = ((0, 0), (33, 11), (48, 39), (96, 51))  # losses at which the share changes, and the share from there on
_SECONDS = 10  # whose largest loss counts


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


@record
class Row:
    reports: Reports = Reports()
    losses: NDArray[np.float64] = np.zeros(_SECONDS)  # of the last seconds
    repair: int = 0  # packets of the present block


@rule(Control.PROTECTION, row=Row, requests=Requests, repairs=Table(lambda params: repairs_by_loss()))
class WebrtcFec(NamedTuple):
    """Parameters: smallest round trip with repair packets, packet interval."""

    from_ms: Annotated[float, (0.0, 1e9)] = 200.0
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def update(self, row, requests, repairs, record):
        if record.kind == MEDIA:
            count_arrival(row.reports, record.packet)
        if record.kind in (MEDIA, COPY):
            see_gaps(requests, record)

    def protect(self, row, requests, repairs, now_us, path):
        reports = row.reports
        if now_us >= (reports.second + 1) * SECOND_US:
            row.losses[reports.second % _SECONDS] = reported_loss(reports, 1)
            end_second(reports)
        newest = packet_at(now_us, self.packet_ms)
        behind = newest % FRAMES + 1
        if behind == 1:
            worst = 0.0
            for loss in row.losses:
                worst = max(worst, loss)
            # Receiver reports have the loss in 256ths, cut off (RFC 3550, 6.4.1), and the source takes these for 255ths.
            repair = repairs[min(np.int64(256.0 * worst), _HALF_255)]
            row.repair = repair if newest >= FRAMES and requests.rtt_us >= 1000.0 * self.from_ms else 0
        again = requested(requests, _REQUESTS, newest, now_us)
        return protection(again=again, path=path, covers=FRAMES if behind <= row.repair else 0, behind=behind)
