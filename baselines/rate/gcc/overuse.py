"""GCC, third stage: the over-use detector, which compares the trend with an adaptive threshold.

After each sample, with trend T and threshold g (libwebrtc's trendline_estimator and overuse_detector; draft-ietf-rmcat-gcc-02 5.4):

    T > g    the timer starts at half the departure gap, then adds gaps; over-use when it exceeds 10 ms, at the second sample in a row or
             later, unless the trend falls; timer and counter then restart at 0
    T < -g   under-use
    else     normal; both clear timer and counter
    g += k (|T| - g) min(dt, 100 ms), k = k_up where |T| >= g, else k_down; within [6, 600]; unless |T| > g + 15

libwebrtc: k_up 0.0087, k_down 0.039. Draft-02: 0.01 and 0.00018, so that its threshold falls two hundred times more slowly.
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

NORMAL, OVERUSE, UNDERUSE = 0, 1, 2  # libwebrtc's bandwidth usage

K_UP_WEBRTC, K_DOWN_WEBRTC = 0.0087, 0.039
K_UP_DRAFT, K_DOWN_DRAFT = 0.01, 0.00018  # draft-02 5.4
START_THRESHOLD_MS = 12.5  # the same
_MIN_MS, _MAX_MS = 6.0, 600.0  # the same
_OUTLIER_MS = 15.0  # the same
_MAX_DT_MS = 100.0
_OVERUSE_MS = 10.0  # the same
_NOT_STARTED = -1.0


@record
class Detector:
    """Over-use detector."""

    usage: int = NORMAL  # NORMAL, OVERUSE or UNDERUSE
    threshold_ms: float = START_THRESHOLD_MS
    timer_ms: float = _NOT_STARTED
    over: int = 0  # samples above the threshold in a row
    trend_before: float = 0.0
    at_us: int = -1  # time of the previous sample; -1: none


@kernel
def judge(detector, modified, trend, samples, departures_ms, at_us, k_up, k_down):
    """Update with one sample at `at_us` and return the usage: NORMAL, OVERUSE or UNDERUSE.

    `modified` is the modified trend T compared with the threshold in ms; `trend` the slope (trendline) or offset (Kalman filter), which
    must not fall for over-use; `samples` the number so far: below 2 nothing is learned; `departures_ms` the gap between the departures of
    both groups. The threshold rises and falls at rates `k_up` and `k_down`, per ms, 0 to 1.
    """
    if samples < 2:
        detector.usage = NORMAL
        return detector.usage
    if modified > detector.threshold_ms:
        detector.timer_ms = departures_ms / 2.0 if detector.timer_ms == _NOT_STARTED else detector.timer_ms + departures_ms
        detector.over += 1
        if detector.timer_ms > _OVERUSE_MS and detector.over > 1 and trend >= detector.trend_before:
            detector.timer_ms, detector.over = 0.0, 0
            detector.usage = OVERUSE
    else:
        detector.usage = UNDERUSE if modified < -detector.threshold_ms else NORMAL
        detector.timer_ms, detector.over = _NOT_STARTED, 0
    detector.trend_before = trend
    adapt(detector, modified, at_us, k_up, k_down)
    return detector.usage


@kernel
def adapt(detector, modified, at_us, k_up, k_down):
    """Adapt the threshold to |T| of `modified`, with `k_up` or `k_down`, for a sample at `at_us`; see `judge`."""
    size = abs(modified)
    dt_ms = 0.0 if detector.at_us < 0 else min((at_us - detector.at_us) / 1000.0, _MAX_DT_MS)
    detector.at_us = at_us
    # A sudden spike, as of a route change, would raise the threshold for a long time.
    if size > detector.threshold_ms + _OUTLIER_MS:
        return
    k = k_up if size >= detector.threshold_ms else k_down
    moved_ms = detector.threshold_ms + k * (size - detector.threshold_ms) * dt_ms
    detector.threshold_ms = min(max(moved_ms, _MIN_MS), _MAX_MS)
