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

from vcgym.baselines.path.top_k import has_converged
from vcgym.baselines.path.vcroute.emissions import Emissions, add_arrival, expect_emission, next_emitted, settle_last
from vcgym.baselines.path.vcroute.vcroute import PARTS, VCRoute, begin, follow, learn, predictor_inputs, require_predicted, sample_path
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds, packet_at
from vcgym.predictors.predictor import predict_e2e

PER_100_MS = 0.01


@record
class Weights:
    """State of a path, w."""

    bias_ms: float = 0.0
    transmit_ms: float = 0.0
    jitter_ms: float = 0.0


@rule(Control.PATH, **PARTS, emissions=Emissions, weights=Rows(Weights))
class VCRouteOnline(NamedTuple):
    step: Annotated[float, (0.0, 1.0)] = 0.01  # share of an error that one update corrects
    route: VCRoute = VCRoute()

    def check(self):
        require_predicted(self.route)

    def init(self, call, arms, shortlist, upper, passes, emissions, weights, start, key):
        begin(self.route, call, arms, shortlist, start, key)
        emissions.packet_us = microseconds(self.route.packet_ms)

    def update(self, call, arms, shortlist, upper, passes, emissions, weights, record):
        if has_converged(self.route.topk, call.candidates):
            return
        follow(self.route, call, arms, upper, record)
        if record.kind != MEDIA:
            return
        settle_last(emissions, record.lag_us)
        index = next_emitted(emissions)
        while index >= 0:
            packet = emissions.expected[index]
            e2e_ms = (emissions.last_arrived_us - packet.packet * emissions.packet_us) / 1000.0
            correct(weights[packet.path], packet, e2e_ms, self.step)
            index = next_emitted(emissions)
        add_arrival(emissions, record)

    def decide(self, call, arms, shortlist, upper, passes, emissions, weights, now_us):
        route = self.route
        path, is_only = sample_path(route, call, arms, shortlist, upper, passes, now_us)
        if is_only:
            return path
        transmit_ms, jitter_ms = predictor_inputs(call, arms, path)
        forecast_ms = predict_e2e(route.predictor, transmit_ms, jitter_ms)
        expect_emission(emissions, packet_at(now_us, route.packet_ms), path, transmit_ms, jitter_ms, forecast_ms)
        learn(route, call, arms, upper, path, forecast_ms + correction(weights[path], transmit_ms, jitter_ms))
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
