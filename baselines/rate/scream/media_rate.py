"""SCReAM version 1, the media rate (RFC 8298 4.1.3), every RATE_ADJUST_INTERVAL.

    after a loss or a mark:    last_max = rate, rate *= BETA_R or BETA_ECN, no other change
    ramp  = min(RAMP_UP_SPEED, rate / 2)
    scale = clip((4 (rate - last_max) / last_max)^2, 0.2, 1)
    in fast increase:          rate += ramp RATE_ADJUST_INTERVAL scale
    else, cur = max(rate sent, rate acknowledged):
        d = cur (1 - PRE_CONGESTION_GUARD trend) - TX_QUEUE_SIZE_FACTOR queue - rate
        rate += d; if d is positive, min(scale d, ramp RATE_ADJUST_INTERVAL) instead
        rate *= TARGET_RATE_SCALE_RTP_QDELAY                             if queue / cur > RTP_QDELAY_TH
    rate <= max(cur, captured, median captured) (2 - trend_mem), and within the bounds of the call

queue: bits in the send queue without the newest frame; captured: rate of the sources, with its upper median over the last 10 s. last_max is
also set when fast increase ends. The newest frame is no standing queue: it waits at the sender while it is paced. RFC 8298 does not take it
off, the published code does; with it a rate whose adjustments fall together with captures would shrink on an empty link. RFC 8298 gives d
without "- rate", which would grow without limit and keep a standing queue; the published code has it. As in the published code, a loss
takes effect at the next adjustment, although the RFC demands a prompt reaction.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_SAMPLES = 50  # 10 s

NOTHING, LOSS, MARK = 0, 1, 2  # events


@record
class MediaRate:
    """Media rate, and totals at its last adjustment."""

    bps: float = 0.0
    last_max_bps: float = 0.0  # 0: none yet
    event: int = NOTHING  # since the last adjustment
    adjusted_us: int = 0
    sent_bytes: int = 0
    acked_bytes: int = 0
    captured_bytes: int = 0
    samples: int = 0
    captured_bps: NDArray[np.float64] = np.zeros(_SAMPLES)


@kernel
def note_event(media, event):
    """Store a loss or a mark for the next adjustment; a loss has priority."""
    if event != NOTHING and media.event != LOSS:
        media.event = event


@kernel
def adjust(params, media, fast, trend, memory, status, acked_bytes, min_bps, max_bps, now_us):
    """Adjust the media rate if due at `now_us`, within `min_bps` and `max_bps` of the call.

    `fast` is 1 in fast increase; `trend`, `memory`: qdelay_trend, qdelay_trend_mem; `status`: `SenderStatus`; `acked_bytes`: a total since
    the start of the call.
    """
    took_us = now_us - media.adjusted_us
    if took_us < params.adjust_ms * 1000.0:
        return
    current_bps = 8e6 * max(status.sent_bytes - media.sent_bytes, acked_bytes - media.acked_bytes) / took_us
    captured_bps = 8e6 * (status.captured_bytes - media.captured_bytes) / took_us
    media.captured_bps[media.samples % _SAMPLES] = captured_bps
    media.samples += 1
    media.adjusted_us, media.sent_bytes, media.acked_bytes = now_us, status.sent_bytes, acked_bytes
    media.captured_bytes = status.captured_bytes
    if media.event != NOTHING:
        media.last_max_bps = media.bps
        media.bps *= params.beta_rate if media.event == LOSS else params.beta_mark
        media.event = NOTHING
    else:
        queued_bits = 8.0 * max(status.waiting_bytes - status.frame_bytes, 0)
        media.bps = _changed(params, media, fast, trend, current_bps, queued_bits)
        media.bps = min(media.bps, max(current_bps, captured_bps, _median(media)) * (2.0 - memory))
    media.bps = min(max(media.bps, min_bps), max_bps)


@kernel
def _changed(params, media, fast, trend, current_bps, queued_bits):
    step_bps = min(params.ramp_up_bps_per_s, media.bps / 2.0) * params.adjust_ms / 1000.0
    scale = 1.0
    if media.last_max_bps > 0.0:
        scale = min(max((4.0 * (media.bps - media.last_max_bps) / media.last_max_bps) ** 2, 0.2), 1.0)
    if fast == 1:
        return media.bps + step_bps * scale
    change_bps = current_bps * (1.0 - params.congestion_guard * trend) - params.queue_factor * queued_bits - media.bps
    if change_bps > 0.0:
        change_bps = min(scale * change_bps, step_bps)
    rate_bps = media.bps + change_bps
    return rate_bps * params.queue_scale if queued_bits * 1000.0 > params.queue_ms * current_bps else rate_bps


@kernel
def _median(media):
    """Return the upper median of the stored captured rates."""
    n = min(media.samples, _SAMPLES)
    for i in range(n):
        smaller, equal = 0, 0
        for j in range(n):
            smaller += media.captured_bps[j] < media.captured_bps[i]
            equal += media.captured_bps[j] == media.captured_bps[i]
        if smaller <= n // 2 < smaller + equal:
            return media.captured_bps[i]
    return 0.0
