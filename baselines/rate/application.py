"""A conferencing application's rate: one law for senders and relays that differ in their numbers (profile.py; the application study, S3).

    every `every_ms`, over the packets told of since then:
        shortage   more than max_loss of their bytes are lost, or the least queuing delay exceeds max_queuing_ms
        yield      rate = yields_to min(rate, received); what is told of within every_ms after that is passed over
        rise       rate = (rate after the yield) (1 + growth)^t + rises_kbps t^power, t: s since the yield, less hold_s
        ceiling    nominal; within settles_s after a shortage peak times as much
    output         the largest of layers_kbps that is at most the rate, if there are layers

S3 prints what the applications do and not how they do it: the form of the law is ours. Queuing is the one-way delay above its least so far.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import NEVER_US, Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_MAX_S = 1000.0  # beyond which a rise has no need to be computed


@rule(Control.RATE)
class Application(NamedTuple):
    """Parameters of a sender, or of a relay.

    Attributes:
        nominal_kbps: rate where nothing is short.
        layers_kbps: (n,) rising, the rates that there are; (0,): any rate.
        max_loss: share of the bytes lost above which there is a shortage.
        max_queuing_ms: queuing above which there is a shortage.
        yields_to: share of the received rate that is left after a shortage.
        hold_s: time before the rate rises again.
        rises_kbps: rise in the first second, beside growth.
        power: of the time in the rise; 1: linear, above: slow, then sudden.
        growth: rise per second as a share.
        peak: multiple of nominal up to which a rise probes.
        settles_s: time after a shortage when probing is over.
        every_ms: time from one look at the reports to the next.
    """

    nominal_kbps: float = 1000.0
    layers_kbps: NDArray[np.float64] = np.zeros(0)
    max_loss: float = 0.1
    max_queuing_ms: float = 1e4
    yields_to: float = 0.85
    hold_s: float = 0.0
    rises_kbps: float = 10.0
    power: float = 1.0
    growth: float = 0.0
    peak: float = 1.0
    settles_s: float = 0.0
    every_ms: float = 500.0


_RANGES = {
    "nominal_kbps": (1.0, 1e6), "max_loss": (0.0, 1.0), "max_queuing_ms": (0.0, 1e5), "yields_to": (0.01, 1.0), "hold_s": (0.0, 1e4),
    "rises_kbps": (0.0, 1e6), "power": (0.1, 6.0), "growth": (0.0, 0.9), "peak": (1.0, 10.0), "settles_s": (0.0, 1e4),
    "every_ms": (10.0, 1e4),
}  # fmt: skip

STATE = np.dtype(
    (
        np.record,
        [
            ("rate_bps", "f8"),
            ("min_bps", "f8"),
            ("from_bps", "f8"),  # the rate after it yielded
            ("rises_us", "i8"),  # when it rises again
            ("short_us", "i8"),  # when it yielded
            ("looked_us", "i8"),
            ("base_us", "i8"),  # least one-way delay
            ("delay_us", "i8"),  # the same since the last look
            ("told_bytes", "i8"),  # since the last look
            ("received_bytes", "i8"),
        ],
    )
)


class ApplicationState(NamedTuple):
    """The first axis is the session."""

    application: Any  # recarray (sessions,) of STATE


@allocate.register(Application)
def _allocate(params, sessions, paths):
    require_within(params, **_RANGES)
    layers = np.asarray(params.layers_kbps)
    if layers.ndim != 1 or not (layers > 0.0).all() or not (np.diff(layers) > 0.0).all():
        raise ValueError(f"Application.layers_kbps is {layers.tolist()}; allowed are rising rates above 0")
    return ApplicationState(np.zeros(sessions, STATE).view(np.recarray))


@init.register(Application)
def _init(params, state, s, start, key):
    own = state.application[s]
    own.rate_bps = own.from_bps = start.start_bps
    own.min_bps = start.min_bps
    own.rises_us = own.looked_us = 0
    own.short_us = -NEVER_US
    own.base_us = NEVER_US
    _look_anew(own)


@update.register(Application)
def _update(params, state, s, record):
    own = state.application[s]
    own.told_bytes += record.size_bytes
    if record.arrived_us < 0:
        return
    own.received_bytes += record.size_bytes
    own.delay_us = min(own.delay_us, record.arrived_us - record.sent_us)
    own.base_us = min(own.base_us, record.arrived_us - record.sent_us)


@decide.register(Application)
def _decide(params, state, s, now_us):
    own = state.application[s]
    if own.told_bytes > 0 and now_us - own.looked_us >= params.every_ms * 1000.0:
        if is_short(params, own) and now_us - own.short_us > 2000.0 * params.every_ms:
            received_bps = 8e6 * own.received_bytes / (now_us - own.looked_us)
            own.from_bps = max(own.min_bps, params.yields_to * min(own.rate_bps, received_bps))
            own.short_us, own.rises_us = now_us, now_us + np.int64(params.hold_s * 1e6)
        own.rate_bps = min(risen_bps(params, own, now_us), ceiling_bps(params, own, now_us))
        own.looked_us = now_us
        _look_anew(own)
    return np.int64(layer_bps(params, own.rate_bps))


@kernel
def is_short(params, own):
    """Return True if what was told of shows a shortage."""
    queuing_us = own.delay_us - own.base_us if own.delay_us < NEVER_US else np.int64(0)
    return own.told_bytes - own.received_bytes > params.max_loss * own.told_bytes or queuing_us > params.max_queuing_ms * 1000.0


@kernel
def risen_bps(params, own, now_us):
    """Return the rate that the rise has come to, without a ceiling."""
    t = min(max(now_us - own.rises_us, 0) * 1e-6, _MAX_S)
    return own.from_bps * (1.0 + params.growth) ** t + 1000.0 * params.rises_kbps * t**params.power


@kernel
def ceiling_bps(params, own, now_us):
    """Return the largest rate of this moment."""
    probes = own.short_us >= 0 and now_us - own.short_us < params.settles_s * 1e6
    return 1000.0 * params.nominal_kbps * (params.peak if probes else 1.0)


@kernel
def layer_bps(params, rate_bps):
    """Return the largest layer that is at most the rate, or the smallest of all; the rate where there are no layers."""
    if params.layers_kbps.size == 0:
        return rate_bps
    chosen = params.layers_kbps[0]
    for layer in params.layers_kbps:
        if 1000.0 * layer <= rate_bps:
            chosen = layer
    return 1000.0 * chosen


@kernel
def _look_anew(own):
    own.told_bytes = own.received_bytes = 0
    own.delay_us = NEVER_US
