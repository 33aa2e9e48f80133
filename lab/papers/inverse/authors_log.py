"""The authors' own packet log (one run, published with their code, not shipped) beside worlds under assumptions.

The log gives the one-way delays of one call, a packet every 10 ms, on the direct path between Brazil and Argentina. Compared are the delays
(mean absolute difference of their quantiles, in standard deviations of the log), the correlation of consecutive packets, the share of
packets overtaken by the next one, and the share missing. The misfit of a world is the sum of the four differences. Packets that the
receiver discarded as late are missing in the log, so that only a larger share in our world counts. Only assumptions about one path can be
compared.
"""

import csv
import gzip
import io
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lab.papers.inverse.assumptions import Assumptions
from lab.papers.inverse.results import AuthorsLog, LogFit
from lab.papers.inverse.worlds import AssumedRecipe
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import every_pair
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import read_plain
from vcgym.network.worlds.world import blocks

LOG = Path("vcroute_authors_run") / "direct_ar_br.csv.gz"
PAIR = "BR-AR"
_OF_A_PATH = {"burst", "round_trip", "spread", "tau_ms", "order", "loss", "clock_ppm"}
_MAX_BYTES = 1 << 24


class Packets(NamedTuple):
    """Packets of one path, with what is compared.

    Attributes:
        delay_ms: one-way delay by index of the packet, NaN where it is missing.
    """

    delay_ms: NDArray[np.float64]

    @property
    def present_ms(self) -> NDArray[np.float64]:
        """Delays of the packets that are there."""
        return self.delay_ms[np.isfinite(self.delay_ms)]

    @property
    def correlation(self) -> float:
        """Correlation of the delays of consecutive packets."""
        both = np.isfinite(self.delay_ms[1:]) & np.isfinite(self.delay_ms[:-1])
        return float(np.corrcoef(self.delay_ms[1:][both], self.delay_ms[:-1][both])[0, 1])

    @property
    def overtaken(self) -> float:
        """Share of packets that the next one overtakes."""
        fall_ms = self.delay_ms[:-1] - self.delay_ms[1:]
        return float(np.mean(fall_ms[np.isfinite(fall_ms)] > SLOT_US / 1000.0))

    @property
    def missing(self) -> float:
        """Share of missing packets."""
        return float(np.mean(np.isnan(self.delay_ms)))


def read_log(root: Path) -> Packets:
    """Return the packets in the log under the folder of measured data.

    Raises:
        OSError: the log is not there.
    """
    text = gzip.decompress(read_plain(root / LOG, _MAX_BYTES)).decode()
    rows = [(int(row["packet"]), float(row["transit_ms"])) for row in csv.DictReader(io.StringIO(text))]
    delay_ms = np.full(rows[-1][0] + 1, np.nan)
    for packet, transit_ms in rows:
        delay_ms[packet] = transit_ms
    return Packets(delay_ms)


def drawn(assumed: Assumptions, packets: int) -> Packets:
    """Return as many packets on the direct path of PAIR in a world under assumptions."""
    scenario = Scenario(partial(AssumedRecipe, about="wonderproxy", assumed=assumed), "paper", packets)
    world = scenario.world(1)
    world.start(0, next(draw for draw in every_pair(scenario, 1) if draw.pair == PAIR))
    delay_us = np.hstack([block[0] for block in blocks(world, packets)])[:packets]
    return Packets(np.where(delay_us == LOST, np.nan, delay_us / 1000.0))


def fit(assumed: Assumptions, log: Packets) -> LogFit:
    """Return how far packets drawn under assumptions differ from the log."""
    ours = drawn(assumed, len(log.delay_ms))
    distance = float(stats.wasserstein_distance(log.present_ms, ours.present_ms) / log.present_ms.std())
    others = abs(ours.correlation - log.correlation) + abs(ours.overtaken - log.overtaken) + max(0.0, ours.missing - log.missing)
    figures = {"distance": distance, "misfit": distance + others, **_figures(ours)}
    return LogFit(changes=assumed.changes, **{name: round(value, 4) for name, value in figures.items()})


def compared(root: Path) -> AuthorsLog:
    """Return the log's figures, and the fit of the defaults and of every single change that concerns one path, best first."""
    log = read_log(root)
    tried = [Assumptions(), *(one for one in Assumptions().neighbours() if set(one.changes) <= _OF_A_PATH)]
    fits = sorted((fit(assumed, log) for assumed in tried), key=lambda one: one.misfit)
    return AuthorsLog(packets=len(log.present_ms), fits=tuple(fits), **{name: round(value, 4) for name, value in _figures(log).items()})


def _figures(packets: Packets) -> dict[str, float]:
    return {name: getattr(packets, name) for name in ("correlation", "overtaken", "missing")}
