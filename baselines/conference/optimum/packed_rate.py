"""The maximum rate of one session over delay-bounded trees, for given rates of overlay links."""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.optimum.oracle_lp import Optimum, oracle_lp
from vcgym.baselines.conference.trees import DELAY_BOUND_MS
from vcgym.network.overlay.topology import NO_LINK, Overlay


def packed_rate(
    source: int, rates_kbps: NDArray[np.float64], delay_ms: NDArray[np.float64], bound_ms: float = DELAY_BOUND_MS, hops: int = 2
) -> Optimum:
    """Return the best packing of delay-bounded trees from `source` into (P, P) rates of overlay links."""
    tails, heads = np.nonzero((rates_kbps > 0.0) & np.isfinite(delay_ms))
    paths = np.full((*rates_kbps.shape, 1), NO_LINK, np.int64)
    paths[tails, heads, 0] = np.arange(len(tails))
    alone = np.full(delay_ms.shape, math.inf)
    alone[tails, heads] = delay_ms[tails, heads]
    nothing = np.zeros(len(tails), np.int64)
    return oracle_lp(Overlay(rates_kbps[tails, heads], nothing, nothing, paths, alone), hops, bound_ms, [source])
