"""Gain of correcting a predictor during the call when the world differs from its training data.

The forecast of each packet is recorded when it is sent and compared with its actual delay. Therefore calls are played from outside, with
one decision per packet, by the same rule with its step and with a step of 0, which corrects nothing.
"""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pyarrow as pa
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

import vcgym.envs  # noqa: F401  (registers the ids)
from lab.studies.decision_value.outcomes import identity
from lab.studies.decision_value.participants import KINDS
from vcgym.baselines.path.vcroute.emissions import AWAITED
from vcgym.baselines.path.vcroute.online import VCRouteOnline, VCRouteOnlineState, correction
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy
from vcgym.envs.call.batch import Played
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.paths import PathsPlay
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split

KIND = "VCR5-WM"  # keeps several paths; a single path is never predicted
CORRECTED, AS_TRAINED = "corrected", "as trained"


class Drift(NamedTuple):
    """Condition under which a predictor may be wrong: a stratum of a scenario, or a receiver other than that of its training."""

    scenario: str
    mode: str
    stratum: str | None = None
    receiver: NamedTuple = WMJitter()

    @property
    def label(self) -> str:
        """Label of the drift."""
        receiver = "" if isinstance(self.receiver, WMJitter) else f"over {type(self.receiver).__name__}"
        return ", ".join(filter(None, (self.scenario, self.mode, self.stratum, receiver)))


def play_drift(drift: Drift, predictor: object, seeds: int, packets: int) -> pa.Table:
    """Return one row of metrics per world and system, AS_TRAINED or CORRECTED; `forecast_error_ms`: mean absolute error of forecasts."""
    found = []
    for system, step in ((AS_TRAINED, 0.0), (CORRECTED, VCRouteOnline().step)):
        router = VCRouteOnline(step, KINDS[KIND]._replace(predictor=predictor))
        part = Part(drift.scenario, drift.mode, seeds, stratum=drift.stratum)
        found += _play(system, router, drift.receiver, part, packets)
    return pa.Table.from_pylist(found)


@unlock_test_split()
def _play(system: str, router: VCRouteOnline, receiver: NamedTuple, part: Part, packets: int) -> list[dict[str, object]]:
    which = PathsPlay().worlds(part, Scenario(part.scenario, part.mode, packets))
    policy = RulePolicy(router)
    env: Any = gymnasium.make_vec(
        "vcgym/Relay-v0", num_envs=len(which), scenario=part.scenario, mode=part.mode, split=part.split, packets=packets, interval=1,
        playout=receiver, observation=policy.reads, action=policy.action, log=True, autoreset_mode=AutoresetMode.DISABLED,
    ).unwrapped  # fmt: skip
    for name in dict.fromkeys(pair for pair, _ in which):
        mask = np.array([pair == name for pair, _ in which])
        observation, _ = env.reset(seed=[seed for _, seed in which], options={"pair": name, "stratum": part.stratum, "reset_mask": mask})
    forecast_ms, path, state = np.empty((len(which), packets)), np.empty((len(which), packets), np.int64), None
    for slot in range(packets):
        path[:, slot], state = policy.predict(observation, state)
        forecast_ms[:, slot] = _forecasts(state[0], path[:, slot], slot)
        observation = env.step(path[:, slot])[0]
    played = env.played()
    found = rows(played, system=system, **identity(part, env.batch.draws))
    errors_ms = _errors(played, forecast_ms, path)
    return [row | {"forecast_error_ms": error_ms} for row, error_ms in zip(found, errors_ms, strict=True)]


def _forecasts(state: VCRouteOnlineState, path: NDArray[np.int64], slot: int) -> NDArray[np.float64]:
    """Return the expected delay of the packet of this slot; NaN if only one path is left and nothing is forecast."""
    sessions = np.arange(len(path))
    expected, w = state.emissions.expected[:, slot % AWAITED], state.weights[sessions, path]
    forecasts = [e.forecast_ms + correction(v, e.transmit_ms, e.jitter_ms) for e, v in zip(expected, w, strict=True)]
    return np.where(expected.packet == slot, forecasts, np.nan)


def _errors(played: Played, forecast_ms: NDArray[np.float64], path: NDArray[np.int64]) -> list[float]:
    """Return the mean absolute error (ms) of each call, over the emitted packets that took the decided path."""
    sent_us = np.arange(forecast_ms.shape[1]) * played.packet_us
    errors_ms = np.abs((played.emitted_us - sent_us) / 1000.0 - forecast_ms)
    counts = (played.emitted_us >= 0) & ~played.flushed & (played.path == path) & np.isfinite(forecast_ms)
    return [float(error[which].mean()) if which.any() else float("nan") for error, which in zip(errors_ms, counts, strict=True)]
