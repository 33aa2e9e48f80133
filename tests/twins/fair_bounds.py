"""The optimum of a conference if every session reached its delay-bounded min-cut, as with network coding: an upper bound for trees."""

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.topology import Overlay
from vcgym.conference.network.trees import DELAY_BOUND_MS
from vcgym.conference.optimum.oracle_lp import maximise_log


def fair_bounds(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> NDArray[np.float64]:
    """Return the session rates in kbps, (P,), that maximise the sum of ln(rate) under Celerity's equation 4; 0 without an admissible tree.

    Each minimum in the equation is a variable `through[s, i, j]`, the flow from s to j over relay i, limited by both of its sides.
    """
    parties, delay_ms = network.parties, network.delay_ms
    sessions = [s for s in range(parties) if all(_ways(delay_ms, s, j, bound_ms) for j in range(parties) if j != s)]
    on_link, through = np.arange(2 * parties**3).reshape(2, parties, parties, parties)
    rate = 2 * parties**3 + np.arange(parties)
    rows, limits = [], []

    def limit(largest: float, less: NDArray[np.int64], more: tuple[int, ...] = ()) -> None:
        row = np.zeros(2 * parties**3 + parties)
        row[less] = 1.0
        row[list(more)] = -1.0
        rows.append(row)
        limits.append(largest)

    for crossed, capacity in zip(network.crossings(), network.capacity_kbps, strict=True):
        limit(capacity, on_link[:, crossed > 0.0].ravel())
    for s in sessions:
        for j in range(parties):
            if j != s:
                relays = _ways(delay_ms, s, j, bound_ms)
                limit(0.0, rate[s], tuple(int(on_link[s, s, j] if i == j else through[s, i, j]) for i in relays))
                for i in relays:
                    if i != j:
                        limit(0.0, through[s, i, j], (int(on_link[s, s, i]),))
                        limit(0.0, through[s, i, j], (int(on_link[s, i, j]),))
    found = np.zeros(parties)
    if sessions:
        gains = np.zeros((len(sessions), 2 * parties**3 + parties))
        gains[np.arange(len(sessions)), rate[sessions]] = 1.0
        found[sessions] = maximise_log(gains, np.array(rows), np.array(limits)).x[rate[sessions]]
    return found


def _ways(delay_ms: NDArray[np.float64], source: int, j: int, bound_ms: float) -> list[int]:
    """Return the relays from `source` to j within the bound; j itself represents the direct link."""
    total = delay_ms[source] + np.where(np.arange(len(delay_ms)) == j, 0.0, delay_ms[:, j])
    return [i for i in range(len(delay_ms)) if i != source and total[i] <= bound_ms]
