"""Cost of one forecast of the paper's network: packet by packet, four in lockstep, and as plain loops.

The network is the shipped one; inputs are sampled once over the ranges that a forecast meets. The plain loops are the naive
implementation: for each output a sum over the inputs, without optimisation. They sum in another order, so their forecasts differ in the
last bits.
"""

from collections.abc import Callable, Iterator

import numpy as np

from lab.bench.measure import Effort, Measurement, rate
from vcgym.network.kernels.jit import kernel
from vcgym.predictors.mlp import HIDDEN, RANGES_MS
from vcgym.predictors.predictor import predict_e2e, predict_row
from vcgym.predictors.published import shipped_network
from vcgym.predictors.scratch import scratch

FORECASTS = 4096


def forward(way: str, effort: Effort) -> Iterator[Measurement]:
    """Yield the nanoseconds per forecast of one `way` in `FORWARD`."""
    predictor = shipped_network()
    draws = np.random.default_rng(0)
    transmit_ms, jitter_ms = (draws.uniform(*range_ms, FORECASTS) for range_ms in RANGES_MS)
    forecast_ms, run = np.empty(FORECASTS), FORWARD[way]
    found = rate(f"predictor_{way}_ns", "ns", FORECASTS, lambda: run(predictor, transmit_ms, jitter_ms, forecast_ms), effort)
    yield found._replace(value=1e9 / found.value)


@kernel
def _one_by_one(predictor, transmit_ms, jitter_ms, forecast_ms):
    for n in range(forecast_ms.size):
        forecast_ms[n] = predict_e2e(predictor, transmit_ms[n], jitter_ms[n])


@kernel
def _in_rows(predictor, transmit_ms, jitter_ms, forecast_ms):
    predict_row(predictor, transmit_ms, jitter_ms, forecast_ms)


@kernel
def _plain_loops(predictor, transmit_ms, jitter_ms, forecast_ms):
    odd, even = scratch(), scratch()
    for n in range(forecast_ms.size):
        odd[0] = (np.float32(transmit_ms[n]) - predictor.input_mean_ms[0]) * predictor.input_per_sd[0]
        odd[1] = (np.float32(jitter_ms[n]) - predictor.input_mean_ms[1]) * predictor.input_per_sd[1]
        _layer(predictor.weights_1, predictor.biases_1, odd, even, 2)
        _layer(predictor.weights_2, predictor.biases_2, even, odd, HIDDEN)
        _layer(predictor.weights_3, predictor.biases_3, odd, even, HIDDEN)
        total = predictor.biases_4[0]
        for i in range(HIDDEN):
            total += even[i] * predictor.weights_4[i]
        forecast_ms[n] = predictor.output_mean_ms[0] + predictor.output_sd_ms[0] * total


@kernel
def _layer(weights, biases, inputs, outputs, width):
    for o in range(HIDDEN):
        total = biases[o]
        for i in range(width):
            total += inputs[i] * weights[i, o]
        outputs[o] = max(total, np.float32(0.0))


FORWARD: dict[str, Callable[..., None]] = {
    "batch1": _one_by_one,
    "lockstep": _in_rows,
    "naive": _plain_loops,
}
