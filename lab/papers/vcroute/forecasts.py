"""Accuracy of the predictor of VCR-WM on the end-to-end delay of each packet, pair by pair: Tables III and IV.

The forecast of a packet is that of its path, from the feedback known when the packet was sent, as
`vcgym.leaderboard.forecasts.logging_router` logs it. A packet has none if its path had no feedback by then, or if the receiver did not emit
it before the flush. The figures of a pair cover all its packets.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.together import play_together
from vcgym.leaderboard.forecasts.logging_router import UNKNOWN, LoggingRouter
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw
from vcgym.predictors.predictor import predict_each

SYSTEM = "VCR-WM"
WITHIN = 0.1
RELATIVE_ERRORS = np.linspace(0.0, 1.0, 101)
"""Grid on which relative errors are counted, as in Figure 14."""

_FIELDS = ("packets", "squared_error", "within", "target_sum", "target_squares", "target_low_ms", "target_high_ms")

FIGURES: Mapping[str, Callable[..., Any]] = {
    "rmse_ms": lambda packets, error, within, total, squares: np.sqrt(error / packets),
    "r2": lambda packets, error, within, total, squares: 1.0 - error / (squares - total**2 / packets),
    "within_10_percent": lambda packets, error, within, total, squares: within / packets,
    "target_mean_ms": lambda packets, error, within, total, squares: total / packets,
    "target_sd_ms": lambda packets, error, within, total, squares: np.sqrt(squares / packets - (total / packets) ** 2),
}
"""Figures of a pair, from sums over its packets: how many there are, squared errors (ms^2), those within 10 %, delays and their squares."""


def forecast_worlds(scenario: Scenario, draws: Sequence[WorldDraw], system: System, threads: int, location: str = "central") -> pa.Table:
    """Return one row per call: pair, sums for `FIGURES`, minimum and maximum delay, and packets within each of `RELATIVE_ERRORS`."""
    logging = LoggingRouter(system.path, scenario.packets)
    batch = CallBatch(scenario, len(draws), logging, system.playout, location=location, log=True)
    play_together([batch], draws, threads)
    played, notes = batch.played(), batch.path_state.notes
    sent_us = np.arange(scenario.packets, dtype=np.int64) * played.packet_us
    rows = []
    for s, draw in enumerate(draws):
        which = (notes["transmit_ms"][s] != UNKNOWN) & (played.emitted_us[s] >= 0) & ~played.flushed[s]
        inputs = (notes[name][s][which] for name in ("transmit_ms", "lag_ms"))
        target_ms = (played.emitted_us[s] - sent_us)[which] / 1000.0
        rows.append({"pair": draw.pair, **_sums(predict_each(system.path.predictor, *inputs), target_ms)})
    return pa.Table.from_pylist(rows)


def sums(calls: pa.Table) -> np.ndarray:
    """Return the sums (5, calls) for `FIGURES`."""
    return np.array([calls[name].to_numpy() for name in _FIELDS[:5]], np.float64)


def _sums(forecast_ms: np.ndarray, target_ms: np.ndarray) -> dict[str, Any]:
    error_ms = np.abs(forecast_ms - target_ms)
    relative = np.sort(error_ms / target_ms)
    values = (
        float(len(target_ms)), float((error_ms**2).sum()), float((relative <= WITHIN).sum()), float(target_ms.sum()),
        float((target_ms**2).sum()), float(target_ms.min(initial=np.inf)), float(target_ms.max(initial=-np.inf)),
    )  # fmt: skip
    counts = np.searchsorted(relative, RELATIVE_ERRORS, side="right")
    return dict(zip(_FIELDS, values, strict=True)) | {"relative_errors": counts.tolist()}
