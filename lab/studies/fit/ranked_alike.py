"""Ranking of systems on worlds drawn of a fit, next to their ranking on a replay of another half of the same series.

The series of a set are the paths of a call, and are cut in halves. Worlds are drawn of the fit to one half; the systems play calls on them,
and on segments of either half. What matters is whether a ranking on drawn worlds is the one on measurements that the fit has not seen:
Spearman's correlation of the mean R, next to that of the replay of one half with the replay of the other.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lab.studies.fit.told_apart import halves
from vcgym.baselines.systems import load_system
from vcgym.envs.call.counters import ratings_of
from vcgym.leaderboard.evaluation.rollouts.rollout import play_rules_together
from vcgym.network.fitting.laws import scenario_of
from vcgym.network.fitting.traces import fit_path, observed
from vcgym.network.scenarios.paths.replay import Measured, Replay, as_slots
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.scenarios.splits import ALL, unlock_test_split
from vcgym.network.traces.trace import Trace

SYSTEMS = (
    "BEST-WM", "DRT-BF", "DRT-EWMA", "DRT-EWMA-tuned", "DRT-FIX", "DRT-NEQ", "DRT-NEQ-tuned", "DRT-QTL", "DRT-WM", "DTS-WM",
    "GRD+EWMA-tuned", "GRD-WM", "GRD-WM-tuned", "LIN-WM", "LIN-WM-tuned", "RND-WM", "SWTS-WM", "VCR-BF", "VCR-WM", "VCR5-WM",
    "VIA-BF", "VIA-WM",
)  # fmt: skip
PACKETS = 3000
_OTHER_SEEDS = 10_000


class Alike(NamedTuple):
    """Spearman's correlations with the replay of the other half: of worlds drawn of a half, for two sets of seeds, and of its replay."""

    half: str
    direct: str
    drawn: tuple[float, float]
    replay: float


def ranked_alike(series: Sequence[Trace], calls: int, packets: int = PACKETS, systems: Sequence[str] = SYSTEMS) -> list[Alike]:
    """Return the correlations for both halves of the series, which are the paths of a call; the first is the direct one.

    Raises:
        DataError: a half is too short for a fit, or for a call with its history.
    """
    of_half = [*zip(*(halves(trace) for trace in series), strict=True)]
    replayed = (Scenario(partial(_Parts, parts=parts), "replay", packets) for parts in of_half)
    replays = [_ratings(scenario, range(calls), ALL, systems) for scenario in replayed]
    found = []
    for half, name in enumerate(("first half", "second half")):
        scenario = _fitted(of_half[half], packets)
        drawn = [_ratings(scenario, range(first, first + calls), "train", systems) for first in (0, _OTHER_SEEDS)]
        alike = [float(spearmanr(one, replays[1 - half]).statistic) for one in drawn]
        found.append(Alike(name, series[0].name, (alike[0], alike[1]), float(spearmanr(*replays).statistic)))
    return found


def _fitted(parts: Sequence[Trace], packets: int) -> Scenario:
    """Return the scenario of the fit, through its file."""
    names = tuple(trace.name for trace in parts)
    fitted = scenario_of({"halves": tuple(fit_path(observed(trace.name, trace)) for trace in parts)}, names, "halves of series")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "fitted.json"
        file.write_text(fitted.model_dump_json(), encoding="utf-8")
        return Scenario(str(file), "correlated", packets)


def _ratings(scenario: Scenario, seeds: range, split: str, systems: Sequence[str]) -> NDArray[np.float64]:
    """Return the mean R of each system."""
    with unlock_test_split():
        draws = [scenario.draw(split, seed) for seed in seeds]
    played = play_rules_together([load_system(name) for name in systems], scenario, draws)
    return np.array([ratings_of(rollout.played.totals).mean() for rollout in played])


class _Parts(Replay):
    """Replay of parts of series, the paths of one pair."""

    def __init__(self, settings: WorldSettings, parts: Sequence[Trace]) -> None:
        self._parts = parts
        super().__init__(settings)

    def measure(self) -> Measured:
        """Return the parts as slots."""
        return as_slots({"halves": self._parts}, tuple(part.name for part in self._parts))
