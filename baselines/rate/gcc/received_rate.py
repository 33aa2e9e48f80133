"""GCC: the received rate R_hat, from reports (libwebrtc's bitrate_estimator, kbit/s, arrivals in whole ms).

The first sample uses a window of 500 ms, later ones 150 ms. Samples are weighted by their relative deviation from the estimate.

    sv = (10 |est - sample| / est)^2, pv = var + 5
    est = (sv est + pv sample) / (sv + pv), var = sv pv / (sv + pv)
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_FIRST_WINDOW_MS, _WINDOW_MS = 500, 150
_START_VARIANCE = 50.0
_SCALE = 10.0
_GROWS = 5.0


@record
class Received:
    """Received rate."""

    estimate_kbps: float = -1.0  # -1: none yet
    variance: float = _START_VARIANCE
    elapsed_ms: int = 0
    at_ms: int = -1  # arrival of the newest packet; -1: none
    bytes: int = 0


@kernel
def receive(received, at_ms, size_bytes):
    """Count a packet that arrived at a whole ms."""
    window_ms = _FIRST_WINDOW_MS if received.estimate_kbps < 0.0 else _WINDOW_MS
    if received.at_ms >= 0 and at_ms >= received.at_ms:
        gap_ms = at_ms - received.at_ms
        received.elapsed_ms += gap_ms
        if gap_ms > window_ms:
            received.bytes = 0
            received.elapsed_ms %= window_ms
        if received.elapsed_ms >= window_ms:
            _take(received, 8.0 * received.bytes / window_ms)
            received.elapsed_ms -= window_ms
            received.bytes = 0
    received.at_ms = max(received.at_ms, at_ms)
    received.bytes += size_bytes


@kernel
def _take(received, sample_kbps):
    if received.estimate_kbps < 0.0:
        received.estimate_kbps = sample_kbps
        return
    estimate = max(received.estimate_kbps, 1e-3)
    of_sample = (_SCALE * abs(estimate - sample_kbps) / estimate) ** 2
    of_estimate = received.variance + _GROWS
    received.estimate_kbps = max((of_sample * estimate + of_estimate * sample_kbps) / (of_sample + of_estimate), 0.0)
    received.variance = of_sample * of_estimate / (of_sample + of_estimate)
