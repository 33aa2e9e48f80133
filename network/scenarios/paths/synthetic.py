"""Scenarios synthetic-9, -90, -900: the scale study of the VCRoute paper (section VI-D); 9, 90 or 900 paths of one link each.

From the paper: one user and one endpoint, path means uniform in [100, 200] ms, standard deviations of 10, 20 and 30 ms, each for a third
of the paths. Assumed: draws are independent and normal, truncated at zero. Each world samples its own means; the deviations alternate by
path number. The paper's setting is mode paper. Mode correlated is its FIFO twin: the same mean and standard deviation of each path before
ordering, a lognormal excess of log_sd 0.8 over a base (as assumed for `table1`), no bad hours and no shifts.
"""

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import normal_quantile
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper
from vcgym.network.worlds.quantiles import OPEN_PROBABILITIES
from vcgym.network.worlds.world import World

MEAN_MS = (100.0, 200.0)
SD_MS = (10.0, 20.0, 30.0)
LOG_SD = 0.8


@kernel
def _normal_above_zero(mean, sd, table):
    below = 0.5 * math.erfc(mean / sd / math.sqrt(2.0))
    for i in range(table.size):
        table[i] = mean + sd * normal_quantile(below + (1.0 - below) * OPEN_PROBABILITIES[i])


def normal_table(mean_ms: float, sd_ms: float) -> NDArray[np.float64]:
    """Return the quantiles at `OPEN_PROBABILITIES` of a normal distribution truncated at zero."""
    table = np.empty(OPEN_PROBABILITIES.size)
    _normal_above_zero(mean_ms, sd_ms, table)
    return table


class Synthetic(Recipe):
    """Recipe of independent paths without relays or nodes; one pair; splits are by seed."""

    modes = ("paper", "correlated")

    def __init__(self, settings: WorldSettings, paths: int) -> None:
        self.settings = settings
        self.strata = {"independent" if settings.mode == "paper" else "quiet": 1.0}
        card = hashlib.sha256(f"synthetic {paths} {MEAN_MS} {SD_MS} {LOG_SD}".encode()).hexdigest()
        self.layout = Layout(tuple(f"path {p}" for p in range(paths)), np.arange(paths)[:, None], card)

    def pairs(self, split: str) -> list[str]:
        return ["endpoint-user"]

    def world(self, sessions: int) -> World:
        return LinkWorld(Paper() if self.settings.mode == "paper" else Correlated(), sessions, self.layout.path_links)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        paths = len(self.layout.path_names)
        mean = draws.uniform(*MEAN_MS, paths)
        sd = np.resize(SD_MS, paths)
        loss = np.zeros(paths)
        if self.settings.mode == "paper":
            return {"quantiles_ms": np.array([normal_table(m, s) for m, s in zip(mean, sd, strict=True)]), "loss": loss}
        excess = sd / math.sqrt(math.expm1(LOG_SD**2))
        never = np.zeros(paths, np.int64)
        share = self.settings.share_of_rtt
        return {
            "base_ms": (mean - excess) * share, "log_mean": np.log(excess * share) - LOG_SD**2 / 2.0, "log_sd": np.full(paths, LOG_SD),
            "loss": loss, "tau_ms": self.settings.tau_ms, "bad_from": never, "bad_to": never, "shift_every_s": math.inf,
        }  # fmt: skip
