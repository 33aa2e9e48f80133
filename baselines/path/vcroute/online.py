"""VCRoute with online correction of its predictor during the call.

It equals VCRoute (`vcroute.py`) except for the predicted reward, which is

    x = predictor(tl, jt) + w . f,   f = (1, tl / 100 ms, jt / 100 ms)

with one w per path, 0 at the start of a call. When a packet's emission at the receiver becomes known (`emissions.py`), its true end-to-end
delay y corrects the w of its path by normalised least mean squares (Nagumo and Noda, A learning method for system identification, IEEE
Transactions on Automatic Control 12, 1967), with the tl and jt of its departure:

    w <- w + step (y - predictor(tl, jt) - w . f) f / (f . f)

A packet counts if the chosen path carried it. The paper mentions online regression without specifying it. Left out: updates of the
predictor's own weights.
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.top_k import has_converged
from vcgym.baselines.path.vcroute.emissions import Emissions, expect_emission, hear_arrival, next_emitted, settle_last
from vcgym.baselines.path.vcroute.vcroute import VCRoute, VCRouteState, learn, predictor_inputs, require_predicted, sample_path
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, record, records, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import restart
from vcgym.network.kernels.slots import microseconds, packet_at
from vcgym.predictors.predictor import predict_e2e

PER_100_MS = 0.01


@rule(Control.PATH)
class VCRouteOnline(NamedTuple):
    """Parameters."""

    step: Annotated[float, (0.0, 1.0)] = 0.01  # share of an error that one update corrects
    route: VCRoute = VCRoute()


@record
class Weights:
    """State of a path, w."""

    bias_ms: float = 0.0
    transmit_ms: float = 0.0
    jitter_ms: float = 0.0


_START_WEIGHTS, _NO_EMISSIONS = records(Weights, 1), records(Emissions, 1)


class VCRouteOnlineState(NamedTuple):
    """State; first axis: session."""

    route: VCRouteState
    emissions: np.recarray  # (sessions,) of Emissions
    weights: np.recarray  # (sessions, paths) of Weights


@allocate.register(VCRouteOnline)
def _allocate(params, sessions, paths):
    require_within(params)
    require_predicted(params.route)
    return VCRouteOnlineState(
        allocate(params.route, sessions, paths),
        records(Emissions, sessions),
        records(Weights, sessions, paths),
    )


@init.register(VCRouteOnline)
def _init(params, state, s, start, key):
    init(params.route, state.route, s, start, key)
    restart(state.emissions[s : s + 1], _NO_EMISSIONS)
    state.emissions[s].packet_us = microseconds(params.route.packet_ms)
    restart(state.weights[s], _START_WEIGHTS)


@update.register(VCRouteOnline)
def _update(params, state, s, record):
    if has_converged(params.route.topk, state.route.call[s].candidates):
        return
    update(params.route, state.route, s, record)
    if record.kind != MEDIA:
        return
    emissions = state.emissions[s]
    settle_last(emissions, record.lag_us)
    index = next_emitted(emissions)
    while index >= 0:
        packet = emissions.expected[index]
        e2e_ms = (emissions.last_arrived_us - packet.packet * emissions.packet_us) / 1000.0
        correct(state.weights[s, packet.path], packet, e2e_ms, params.step)
        index = next_emitted(emissions)
    hear_arrival(emissions, record)


@decide.register(VCRouteOnline)
def _decide(params, state, s, now_us):
    route, beliefs = params.route, state.route
    path, is_only = sample_path(route, beliefs, s, now_us)
    if is_only:
        return path
    transmit_ms, jitter_ms = predictor_inputs(beliefs, s, path)
    forecast_ms = predict_e2e(route.predictor, transmit_ms, jitter_ms)
    packet = packet_at(now_us, route.packet_ms)
    expect_emission(state.emissions[s], packet, path, transmit_ms, jitter_ms, forecast_ms)
    learn(route, beliefs, s, path, forecast_ms + correction(state.weights[s, path], transmit_ms, jitter_ms))
    return path


@kernel
def correction(w, transmit_ms, jitter_ms):
    """Return the correction of a forecast (ms) by w."""
    return w.bias_ms + w.transmit_ms * (PER_100_MS * transmit_ms) + w.jitter_ms * (PER_100_MS * jitter_ms)


@kernel
def correct(w, packet, e2e_ms, step):
    """Update w with the end-to-end delay of an emitted packet.

    Args:
        w: Weights of the packet's path, updated.
        packet: Expected: inputs and forecast at departure.
        e2e_ms: float64, delay from capture to emission.
        step: float64, share of the error that one update corrects, 0 to 1.
    """
    transmit, jitter = PER_100_MS * packet.transmit_ms, PER_100_MS * packet.jitter_ms
    error_ms = e2e_ms - packet.forecast_ms - correction(w, packet.transmit_ms, packet.jitter_ms)
    share_ms = step * error_ms / (1.0 + transmit * transmit + jitter * jitter)
    w.bias_ms += share_ms
    w.transmit_ms += share_ms * transmit
    w.jitter_ms += share_ms * jitter
