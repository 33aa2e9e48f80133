"""GCC, fourth stage: the delay-based target, additive or multiplicative increase, multiplicative decrease; and the received rate R_hat.

R_hat is from reports (libwebrtc's bitrate_estimator, kbit/s, arrivals in whole ms). The first sample uses a window of 500 ms, later ones
150 ms. Samples are weighted by their relative deviation from the estimate.

    sv = (10 |est - sample| / est)^2, pv = var + 5
    est = (sv est + pv sample) / (sv + pv), var = sv pv / (sv + pv)

The target:

    normal    hold -> increase; over-use -> decrease; under-use -> hold; after a decrease: hold
    decrease  target = 0.85 R_hat
    increase  far from the capacity estimated at decreases: target *= 1.08^min(dt, 1 s); near it: about half a packet per response time
    never above 1.5 R_hat during an increase

`WEBRTC`  libwebrtc's aimd_rate_control and link_capacity_estimator. `DRAFT`  draft-ietf-rmcat-gcc-02 5.5, as implemented in pion.
The draft averages the rates at decreases "with smoothing factor 0.95": as in pion, this is the weight of the new rate.

Left out: probing, network state estimates, application-limited regions.
"""

import math

from vcgym.baselines.rate.gcc.grouping import WEBRTC
from vcgym.baselines.rate.gcc.overuse import NORMAL, OVERUSE, UNDERUSE
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

HOLD, INCREASE, DECREASE = 0, 1, 2

BETA = 0.85  # draft-02 5.5
GROWTH = 1.08  # the same, per second
MIN_BPS = 5_000.0
_SPREADS = 3.0
_MIN_VARIANCE, _MAX_VARIANCE = 0.4, 2.5
_NONE = -1.0
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


@record
class Aimd:
    """Target, and what decreases taught about the capacity."""

    state: int = HOLD
    target_bps: float = 0.0
    changed_us: int = 0
    received_bps: float = 0.0  # newest R_hat
    capacity_kbps: float = _NONE  # -1: no estimate
    variance: float = _MIN_VARIANCE  # WEBRTC: divided by the estimate; DRAFT: kbit/s squared


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


@kernel
def control(aimd, variant, usage, received_bps, rtt_us, now_us, beta=BETA, growth=GROWTH):
    """Update once and return the target in bit/s, float64, at least MIN_BPS.

    `variant`: WEBRTC or DRAFT; `usage`: that of the over-use detector. `received_bps`, float64, is R_hat, negative if there is none that is
    new: the last one is used. `rtt_us` is above 0, and `now_us` must not decrease. `beta`, 0.1 to 1, is the factor on R_hat after over-use,
    `growth`, 1 to 4, that per second far from the capacity.
    """
    if received_bps >= 0.0:
        aimd.received_bps = received_bps
    if usage == OVERUSE:
        aimd.state = DECREASE
    elif usage == UNDERUSE:
        aimd.state = HOLD
    # The time spent holding must not count as time of increase.
    elif usage == NORMAL and aimd.state == HOLD:
        aimd.state, aimd.changed_us = INCREASE, now_us
    if aimd.state == INCREASE:
        _increase(aimd, variant, rtt_us, now_us, growth)
    elif aimd.state == DECREASE:
        _decrease(aimd, variant, beta)
        aimd.state, aimd.changed_us = HOLD, now_us
    aimd.target_bps = max(aimd.target_bps, MIN_BPS)
    return aimd.target_bps


@kernel
def deviation_kbps(aimd, variant):
    """Return the standard deviation (kbit/s) of the rates at decreases."""
    return math.sqrt(aimd.variance * aimd.capacity_kbps) if variant == WEBRTC else math.sqrt(aimd.variance)


@kernel
def packet_bits(target_bps):
    """Return the mean packet size (bit) at a rate, for 30 frames per second in equal packets of at most 1200 bytes."""
    frame = target_bps / 30.0
    return frame / math.ceil(frame / 9600.0)


@kernel
def _near_capacity(aimd, variant):
    if aimd.capacity_kbps < 0.0:
        return False
    off_kbps = aimd.received_bps / 1000.0 - aimd.capacity_kbps
    # More arrives than the estimated capacity explains: the bottleneck has changed.
    if off_kbps > _SPREADS * deviation_kbps(aimd, variant):
        aimd.capacity_kbps = _NONE
        aimd.variance = aimd.variance if variant == WEBRTC else 0.0
        return False
    return variant == WEBRTC or off_kbps >= -_SPREADS * deviation_kbps(aimd, variant)


@kernel
def _increase(aimd, variant, rtt_us, now_us, growth):
    dt_s = (now_us - aimd.changed_us) * 1e-6
    response_s = rtt_us * 1e-6 + 0.1
    near = _near_capacity(aimd, variant)
    aimd.changed_us = now_us
    if near and variant == WEBRTC:
        more_bps = max(packet_bits(aimd.target_bps) / (2.0 * response_s), 4000.0) * dt_s
    elif near:
        more_bps = max(1000.0, 0.5 * min(dt_s / response_s, 1.0) * packet_bits(aimd.target_bps))
    else:
        more_bps = aimd.target_bps * (growth ** min(dt_s, 1.0) - 1.0)
        more_bps = max(more_bps, 1000.0) if variant == WEBRTC else more_bps
    max_bps = 1.5 * aimd.received_bps + (10_000.0 if variant == WEBRTC else 0.0)
    # A target above the bound, because less is sent than allowed, is not raised; neither is it lowered.
    if aimd.target_bps < max_bps:
        aimd.target_bps = min(aimd.target_bps + more_bps, max_bps)


@kernel
def _decrease(aimd, variant, beta):
    received_kbps = aimd.received_bps / 1000.0
    if variant == WEBRTC:
        lower_bps = beta * aimd.received_bps
        lower_bps = lower_bps - 5000.0 if lower_bps > 5000.0 else lower_bps
        if lower_bps > aimd.target_bps and aimd.capacity_kbps >= 0.0:
            lower_bps = beta * aimd.capacity_kbps * 1000.0
        aimd.target_bps = min(aimd.target_bps, lower_bps)
        _estimate_webrtc(aimd, received_kbps)
    else:
        aimd.target_bps = beta * aimd.received_bps
        _estimate_draft(aimd, received_kbps)


@kernel
def _estimate_webrtc(aimd, received_kbps):
    if aimd.capacity_kbps >= 0.0 and received_kbps < aimd.capacity_kbps - _SPREADS * deviation_kbps(aimd, WEBRTC):
        aimd.capacity_kbps = _NONE
    aimd.capacity_kbps = received_kbps if aimd.capacity_kbps < 0.0 else 0.95 * aimd.capacity_kbps + 0.05 * received_kbps
    off = (aimd.capacity_kbps - received_kbps) ** 2 / max(aimd.capacity_kbps, 1.0)
    aimd.variance = min(max(0.95 * aimd.variance + 0.05 * off, _MIN_VARIANCE), _MAX_VARIANCE)


@kernel
def _estimate_draft(aimd, received_kbps):
    if aimd.capacity_kbps < 0.0:
        aimd.capacity_kbps, aimd.variance = received_kbps, 0.0
        return
    off = received_kbps - aimd.capacity_kbps
    aimd.capacity_kbps += 0.95 * off
    aimd.variance = 0.05 * (aimd.variance + 0.95 * off * off)
