"""Adaptive RED of the Amazon Chime SDK for JavaScript: earlier frames by the loss that the receiver reports.

Loss is the larger one of the last 5 s and the last 15 s, sampled each second from what has come back, as receiver reports count it: one
minus packets received over packets expected. Up to 8 % no frame goes along, up to 18 % one, up to 75 % two; above, none until the loss has
not been above 75 % for 60 s, or at once if it was above for less than 15 s. More frames go along at once, fewer only 5 min after the
present number was last confirmed. The frames are those of the packets 2 and 4 before.

Left out: the size limit of 1,000 bytes and silence, which calls here do not reach or have; what Opus' own in-band copies add. The SDK sends
packets of 20 ms, calls here of 10 ms by default: distances are in packets. Where the code has two classes with other
thresholds we take 8 and 18 %.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.protection.protect import protection
from vcgym.baselines.protection.seen import SECOND_US, Reports, count_arrival, end_second, reported_loss
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_SHORT, _LONG = 5, 15  # windows in seconds
_DOWN_AFTER_US, _QUIET_US, _SHORT_SPELL_US = 300 * SECOND_US, 60 * SECOND_US, 15 * SECOND_US
_FRAMES = (0, 1 << 2, 1 << 2 | 1 << 4)


@record
class Row:
    reports: Reports = Reports()
    frames: int = 0
    confirmed_us: int = 0
    off_us: int = -1  # start of the present spell without frames; -1: none
    extreme_us: int = 0  # last time at which the loss was above 75 %


@rule(Control.PROTECTION, row=Row)
class ChimeRed(NamedTuple):
    """Parameters: shares of loss above which one frame, two, and none go along."""

    one: Annotated[float, (0.0, 1.0)] = 0.08
    two: float = 0.18
    off: float = 0.75

    def check(self):
        """Reject shares that fall."""
        require_within(self, two=(self.one, 1.0), off=(self.two, 1.0))

    def update(self, row, record):
        if record.kind == MEDIA:
            count_arrival(row.reports, record.packet)

    def protect(self, row, now_us, path):
        if now_us >= (row.reports.second + 1) * SECOND_US:
            _sample(self, row, now_us)
            end_second(row.reports)
        return protection(earlier=0 if row.off_us >= 0 else _FRAMES[row.frames])


@kernel
def _sample(params, row, now_us):
    """Take in the loss of the last second, and change the number of frames."""
    loss = max(reported_loss(row.reports, _SHORT), reported_loss(row.reports, _LONG))
    if loss > params.off:
        row.extreme_us = now_us
        row.off_us = now_us if row.off_us < 0 else row.off_us
    elif row.off_us >= 0 and (now_us - row.off_us < _SHORT_SPELL_US or now_us - row.extreme_us >= _QUIET_US):
        row.off_us = -1
    wanted = 0 if loss <= params.one else 1 if loss <= params.two else 2
    if wanted >= row.frames or now_us - row.confirmed_us >= _DOWN_AFTER_US:
        row.frames = wanted
        row.confirmed_us = now_us
