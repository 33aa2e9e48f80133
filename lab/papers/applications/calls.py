"""Experiments of the application study (S3), played: the rates that arrive, second by second."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.papers.applications.experiments import COMPETES_S, SECONDS, ExperimentCell, beside_of, link_of, rule_of
from lab.papers.applications.profile import APPLICATIONS
from vcgym.baselines.order.fifo import Fifo
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.envs.call.sender.no_uplink import PACING
from vcgym.network.kernels import rng

REPEATS = 10  # S3 has 3 to 5
_LOG_PACKETS = 1 << 16
_SEED = 3


class PlayedCells(NamedTuple):
    """Delivered rates of the repeats of a cell; the first axis is the repeat."""

    mbps: NDArray[np.float64]  # (repeats, seconds) of the application
    other_mbps: NDArray[np.float64]  # the same of the competitor; for downloads their mean, from COMPETES_S[0] on


def play_cell(cell: ExperimentCell) -> PlayedCells:
    """Play an experiment `REPEATS` times."""
    (rule, _), (beside, _) = rule_of(cell), rule_of(beside_of(cell))
    link, seconds = link_of(cell), SECONDS[cell.setup]
    flows = max(1, len(link.flows))
    batch = SendingBatch(
        REPEATS, rule, Fifo(), [link.trace], flows, (), PACING, log_packets=_LOG_PACKETS, seconds=seconds, calls=1, same=True, beside=beside
    )
    for row in range(REPEATS):
        batch.start(row, link._replace(seed=int(rng.stream_key(np.uint64(row), _SEED, rng.SCENARIO))))
    batch.play(np.arange(REPEATS))
    mbps = np.array([_mbps(batch.log(row), seconds) for row in range(REPEATS)])
    if not link.flows:
        return PlayedCells(mbps, np.zeros_like(mbps))
    if cell.against in APPLICATIONS:
        return PlayedCells(mbps, np.array([_mbps(batch.log_of_other(row, 0), seconds) for row in range(REPEATS)]))
    through = batch.tables.dumbbell.flows.flow
    bits = 8.0 * ((through["sent"] - through["dropped"]) * through["size_bytes"]).sum(axis=1)
    from_s, to_s = (int(at_s) for at_s in COMPETES_S)
    other = np.zeros_like(mbps)
    other[:, from_s:to_s] = bits[:, None] / (to_s - from_s) / 1e6
    return PlayedCells(mbps, other)


def _mbps(log: NDArray[np.void], seconds: float) -> NDArray[np.float64]:
    """Return the delivered rate of each second."""
    if len(log) >= _LOG_PACKETS:
        raise OverflowError(f"more than {_LOG_PACKETS} packets were sent")
    heard = log[log["arrived_us"] >= 0]
    bits, _ = np.histogram(heard["arrived_us"] / 1e6, np.arange(seconds + 1.0), weights=8.0 * heard["size_bytes"])
    return bits / 1e6
