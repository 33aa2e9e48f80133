"""How well a predictor forecasts the end-to-end delay of each packet of VCR-WM, pair by pair: what Tables III and IV are about.

The forecast of a packet is that of its path as the packet leaves, from the newest delay of that path that was fed back by then; a packet
whose path was never heard of, or that the receiver never emitted in its course, has none. A pair's figures rest on all its packets; the
intervals are over worlds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.batch import CallBatch, Played
from vcgym.leaderboard.rollout import RulePair
from vcgym.leaderboard.together import play_together
from vcgym.network.scenario import Scenario
from vcgym.network.world import WorldDraw
from vcgym.predictors.predictor import predict_each

WITHIN = 0.1
FIELDS = ("packets", "squared_error", "within", "target_sum", "target_squares", "target_low_ms", "target_high_ms")
"""Per call: packets forecast, sum of squared errors (ms^2), packets within 10 % of their delay, and of the delays sum, sum of squares, ends."""

RELATIVE_ERRORS = np.linspace(0.0, 1.0, 101)
"""Grid on which relative errors are counted, as in Figure 14."""


def forecast_calls(
    scenario: Scenario, draws: Sequence[WorldDraw], system: RulePair, predictor: Any, threads: int
) -> list[dict[str, Any]]:  # fmt: skip
    """One row per call: `FIELDS`, and `relative_errors`, how many packets are within each of `RELATIVE_ERRORS` of their delay."""
    batch = CallBatch(scenario, len(draws), system.router, system.receiver, log=True)
    play_together([batch], draws, threads)
    played = batch.played()
    return [_call(played, s, round(1000.0 * batch.history[s, 0, 1] * (1.0 - batch.place)), predictor) for s in range(len(draws))]


def newest_fed_back_ms(path: NDArray[np.int16], sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64], feedback_us: int) -> NDArray[np.float64]:
    """(packets,) one-way delay of the newest packet of the same path whose arrival was known as each left; NaN where none was."""
    found = np.full(len(path), np.nan)
    for one in np.unique(path):
        of_path = np.flatnonzero(path == one)
        heard = of_path[arrived_us[of_path] >= 0]
        known_us = arrived_us[heard] + feedback_us
        order = np.argsort(known_us, kind="stable")
        newest = np.maximum.accumulate(heard[order]) if len(heard) else heard
        place = np.searchsorted(known_us[order], sent_us[of_path], side="right") - 1
        some = place >= 0
        source = newest[place[some]]
        found[of_path[some]] = (arrived_us[source] - sent_us[source]) / 1000.0
    return found


def _call(played: Played, s: int, feedback_us: int, predictor: Any) -> dict[str, Any]:
    sent_us = np.arange(played.path.shape[1], dtype=np.int64) * played.packet_us
    transmit_ms = newest_fed_back_ms(played.path[s], sent_us, played.arrived_us[s], feedback_us)
    which = np.isfinite(transmit_ms) & (played.emitted_us[s] >= 0) & ~played.flushed[s]
    target_ms = (played.emitted_us[s] - sent_us)[which] / 1000.0
    error_ms = np.abs(predict_each(predictor, transmit_ms[which], 0.0) - target_ms)
    relative = error_ms / target_ms
    return dict(zip(FIELDS, (
        len(target_ms), float((error_ms**2).sum()), int((relative <= WITHIN).sum()), float(target_ms.sum()), float((target_ms**2).sum()),
        float(target_ms.min(initial=np.inf)), float(target_ms.max(initial=-np.inf)),
    ), strict=True)) | {"relative_errors": np.searchsorted(np.sort(relative), RELATIVE_ERRORS, side="right").tolist()}  # fmt: skip
