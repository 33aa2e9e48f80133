"""A conferencing application's rate: one law for senders and relays that differ in their numbers (profile.py; the application study, S3).

    every `every_ms`, over the packets reported since then:
        shortage   more than max_loss of their bytes are lost, or the minimum queuing delay exceeds max_queuing_ms
        yield      rate = yields_to min(rate, received); reports within every_ms after that are ignored
        rise       rate = (rate after the yield) (1 + growth)^t + rises_kbps t^power, t: s since the yield, minus hold_s
        ceiling    nominal; within settles_s after a shortage, peak times nominal
    output         the largest of layers_kbps that is at most the rate, if there are layers

S3 describes what the applications do, not how: the form of the law is ours. Queuing is the one-way delay above its minimum so far.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import NEVER_US, Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_MAX_S = 1000.0  # a longer rise need not be computed


@rule(Control.RATE)
class Application(NamedTuple):
    """Parameters of a sender, or of a relay.

    Attributes:
        nominal_kbps: rate without shortage.
        layers_kbps: (n,), increasing, the available rates; (0,): any rate.
        max_loss: share of lost bytes above which there is a shortage.
        max_queuing_ms: queuing delay above which there is a shortage.
        yields_to: factor on the received rate after a shortage.
        hold_s: time before the rate rises again.
        rises_kbps: rise in the first second, in addition to growth.
        power: exponent of the time in the rise; 1: linear, above: slow, then steep.
        growth: rise per second as a share.
        peak: multiple of nominal up to which a rise probes.
        settles_s: time after a shortage at which probing ends.
        every_ms: interval of evaluations of the reports.
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
            ("from_bps", "f8"),  # rate after the last yield
            ("rises_us", "i8"),  # time of the next rise
            ("short_us", "i8"),  # time of the last yield
            ("evaluated_us", "i8"),
            ("base_us", "i8"),  # minimum one-way delay
            ("delay_us", "i8"),  # the same since the last evaluation
            ("reported_bytes", "i8"),  # reported since the last evaluation
            ("received_bytes", "i8"),
        ],
    )
)


class ApplicationState(NamedTuple):
    """State; first axis: session."""

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
    law = state.application[s]
    law.rate_bps = law.from_bps = start.start_bps
    law.min_bps = start.min_bps
    law.rises_us = law.evaluated_us = 0
    law.short_us = -NEVER_US
    law.base_us = NEVER_US
    _clear_counts(law)


@update.register(Application)
def _update(params, state, s, record):
    law = state.application[s]
    law.reported_bytes += record.size_bytes
    if record.arrived_us < 0:
        return
    law.received_bytes += record.size_bytes
    law.delay_us = min(law.delay_us, record.arrived_us - record.sent_us)
    law.base_us = min(law.base_us, record.arrived_us - record.sent_us)


@decide.register(Application)
def _decide(params, state, s, now_us):
    law = state.application[s]
    if law.reported_bytes > 0 and now_us - law.evaluated_us >= params.every_ms * 1000.0:
        if is_short(params, law) and now_us - law.short_us > 2000.0 * params.every_ms:
            received_bps = 8e6 * law.received_bytes / (now_us - law.evaluated_us)
            law.from_bps = max(law.min_bps, params.yields_to * min(law.rate_bps, received_bps))
            law.short_us, law.rises_us = now_us, now_us + np.int64(params.hold_s * 1e6)
        law.rate_bps = min(risen_bps(params, law, now_us), ceiling_bps(params, law, now_us))
        law.evaluated_us = now_us
        _clear_counts(law)
    return np.int64(layer_bps(params, law.rate_bps))


@kernel
def is_short(params, law):
    """Return True if the reports show a shortage."""
    queuing_us = law.delay_us - law.base_us if law.delay_us < NEVER_US else np.int64(0)
    return law.reported_bytes - law.received_bytes > params.max_loss * law.reported_bytes or queuing_us > params.max_queuing_ms * 1000.0


@kernel
def risen_bps(params, law, now_us):
    """Return the current rate of the rise, without a ceiling."""
    t = min(max(now_us - law.rises_us, 0) * 1e-6, _MAX_S)
    return law.from_bps * (1.0 + params.growth) ** t + 1000.0 * params.rises_kbps * t**params.power


@kernel
def ceiling_bps(params, law, now_us):
    """Return the current ceiling."""
    probes = law.short_us >= 0 and now_us - law.short_us < params.settles_s * 1e6
    return 1000.0 * params.nominal_kbps * (params.peak if probes else 1.0)


@kernel
def layer_bps(params, rate_bps):
    """Return the largest layer that is at most the rate, else the smallest layer; without layers, the rate."""
    if params.layers_kbps.size == 0:
        return rate_bps
    chosen = params.layers_kbps[0]
    for layer in params.layers_kbps:
        if 1000.0 * layer <= rate_bps:
            chosen = layer
    return 1000.0 * chosen


@kernel
def _clear_counts(law):
    law.reported_bytes = law.received_bytes = 0
    law.delay_us = NEVER_US
