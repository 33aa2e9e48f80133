"""Cost of one forecast of the paper's network, packet by packet and four in lockstep.

The network is the shipped one; inputs are sampled once over the ranges that a forecast meets.
"""

from collections.abc import Callable, Iterator

import numpy as np

from lab.bench.measure import Effort, Measurement, rate
from vcgym.network.kernels.jit import kernel
from vcgym.predictors.mlp import RANGES_MS
from vcgym.predictors.predictor import predict_e2e, predict_row
from vcgym.predictors.published import shipped_network

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


FORWARD: dict[str, Callable[..., None]] = {"batch1": _one_by_one, "lockstep": predict_row}
