"""GCC, fifth stage: the loss-based target.

    loss <= 2 %  increase; > 10 %  target *= 1 - loss / 2; between: hold

`DRAFT`   draft-ietf-rmcat-gcc-02 6: increase by a factor of 1.05 at each report.
`WEBRTC`  libwebrtc's send_side_bandwidth_estimation before its "v2": at least 20 packets per evaluation; loss in 256ths; increase to 1.08
          times the minimum target of the last second plus 1 kbit/s; at most one decrease per report and per 300 ms plus a round trip.
          In the first 2 s after the first report, as long as nothing is lost, a larger delay-based target is adopted at once.

Left out: the Bayesian estimator that libwebrtc has used since 2023.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

LOW, HIGH = 0.02, 0.10  # draft-02 6; 26 and 256 / 50 of 256 in libwebrtc
_MIN_PACKETS = 20
_HISTORY = 128  # targets of the last second, at most one per 10 ms
_SECOND_US = 1_000_000
_CUT_EVERY_US = 300_000
_REPORT_HOLDS_US = 6_000_000
_START_PHASE_US = 2_000_000


@record
class Loss:
    """Target, losses, and the targets of the last second."""

    target_bps: float = 0.0
    packets: int = 0  # since the last evaluation
    lost: int = 0
    share: float = -1.0  # loss in the last evaluation; -1: none
    share_us: int = 0
    first_us: int = -1  # time of the first report; -1: none
    cut: int = 0  # 1: this evaluation has decreased the target already
    cut_us: int = -_SECOND_US
    then_us: NDArray[np.int64] = np.zeros(_HISTORY, np.int64)
    then_bps: NDArray[np.float64] = np.zeros(_HISTORY)
    oldest: int = 0
    newest: int = 0


@kernel
def count(loss, lost):
    """Count one packet of a report."""
    loss.packets += 1
    loss.lost += 1 if lost else 0


@kernel
def control_draft(loss, low=LOW, high=HIGH):
    """Return the target after a report."""
    if loss.packets > 0:
        loss.share = loss.lost / loss.packets
        loss.packets = loss.lost = 0
        if loss.share > high:
            loss.target_bps *= 1.0 - 0.5 * loss.share
        elif loss.share < low:
            loss.target_bps *= 1.05
    return loss.target_bps


@kernel
def control_webrtc(loss, delay_bps, rtt_us, now_us, low=LOW, high=HIGH):
    """Return the target after a report at `now_us`, in bit/s, float64.

    `delay_bps` is the delay-based target; the round trip `rtt_us`, int64, lengthens the interval between decreases. The target increases
    up to a loss of `low`, and decreases above `high`, both 0 to 1.
    """
    if loss.packets >= _MIN_PACKETS:
        loss.share = np.float64((loss.lost * 256) // loss.packets) / 256.0
        loss.share_us, loss.cut = now_us, 0
        loss.packets = loss.lost = 0
    loss.first_us = now_us if loss.first_us < 0 else loss.first_us
    if now_us - loss.first_us < _START_PHASE_US and loss.share <= 0.0 and delay_bps > loss.target_bps:
        loss.oldest = loss.newest  # the increase starts from the newest target only
        _remember(loss, now_us)
        loss.target_bps = delay_bps
        return delay_bps
    _remember(loss, now_us)
    # No evaluation yet, or one too old to act on.
    if loss.share < 0.0 or now_us - loss.share_us >= _REPORT_HOLDS_US:
        return loss.target_bps
    if loss.share <= low:
        loss.target_bps = loss.then_bps[loss.oldest % _HISTORY] * 1.08 + 1000.0
    elif loss.share > high and loss.cut == 0 and now_us - loss.cut_us >= _CUT_EVERY_US + rtt_us:
        loss.target_bps *= 1.0 - 0.5 * loss.share
        loss.cut, loss.cut_us = 1, now_us
    return loss.target_bps


@kernel
def _remember(loss, now_us):
    """Store the targets of the last second that no later one undercuts: the oldest is the minimum."""
    while loss.oldest < loss.newest and now_us - loss.then_us[loss.oldest % _HISTORY] >= _SECOND_US:
        loss.oldest += 1
    while loss.oldest < loss.newest and loss.then_bps[(loss.newest - 1) % _HISTORY] >= loss.target_bps:
        loss.newest -= 1
    if loss.newest - loss.oldest == _HISTORY:
        loss.oldest += 1
    loss.then_us[loss.newest % _HISTORY], loss.then_bps[loss.newest % _HISTORY] = now_us, loss.target_bps
    loss.newest += 1
