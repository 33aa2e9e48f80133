"""GCC, fifth stage: the loss-based target.

    loss <= 2 %  increase; > 10 %  target *= 1 - loss / 2; between: hold

`DRAFT`   draft-ietf-rmcat-gcc-02 6: increase by a factor of 1.05 at each report.
`WEBRTC`  libwebrtc's send_side_bandwidth_estimation before its "v2": at least 20 packets per evaluation; loss in 256ths; increase to 1.08
          times the minimum target of the last second plus 1 kbit/s; at most one decrease per report and per 300 ms plus a round trip.
          In the first 2 s after the first report, as long as nothing is lost, a larger delay-based target is adopted at once.

Left out: the Bayesian estimator that libwebrtc has used since 2023.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

LOW, HIGH = 0.02, 0.10  # draft-02 6; 26 and 256 / 50 of 256 in libwebrtc
_MIN_PACKETS = 20
_HISTORY = 128  # targets of the last second, at most one per 10 ms
_SECOND_US = 1_000_000
_CUT_EVERY_US = 300_000
_REPORT_HOLDS_US = 6_000_000
_START_PHASE_US = 2_000_000

LOSS = np.dtype(
    (
        np.record,
        [
            ("target_bps", "f8"),
            ("packets", "i8"),  # since the last evaluation
            ("lost", "i8"),
            ("share", "f8"),  # loss in the last evaluation; -1: none
            ("share_us", "i8"),
            ("first_us", "i8"),  # time of the first report; -1: none
            ("cut", "i8"),  # 1: this evaluation has decreased the target already
            ("cut_us", "i8"),
            ("then_us", "i8", (_HISTORY,)),
            ("then_bps", "f8", (_HISTORY,)),
            ("oldest", "i8"),
            ("newest", "i8"),
        ],
    )
)


@kernel
def start_loss(loss, start_bps):
    """Start with a target."""
    loss.target_bps, loss.share, loss.share_us, loss.first_us = start_bps, -1.0, 0, -1
    loss.packets = loss.lost = loss.cut = loss.oldest = loss.newest = 0
    loss.cut_us = -_SECOND_US


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
    """Return the target after a report, in bit/s, float64.

    Args:
        loss: record of LOSS, updated.
        delay_bps: float64, delay-based target in bit/s.
        rtt_us: int64, round trip; it lengthens the interval between two decreases.
        now_us: int64, current time; must not decrease from call to call.
        low: float64, loss up to which the target increases, 0 to 1.
        high: float64, loss above which it decreases, 0 to 1.
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
