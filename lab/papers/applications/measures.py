"""Metrics of a played experiment, one number per repeat.

    mbps, other_mbps    mean rate of the application, and of the competitor, over the counted seconds
    smaller_mbps         the smaller of both over the last 30 s of the competition
    settled_mbps, other_settled_mbps    each over these 30 s
    utilisation         mbps as a share of the level
    recovery_s          from the end of the drop until the median of 5 s is at 95 % of that before it; the rest of the call if never
    peak                the maximum median of 5 s after the drop, as a multiple of that before it
    stable_s            from the end of the drop until the last median of 5 s above 110 % of that before it

The median of 5 s is S3's definition of recovery as we recall it; its text does not state it. The 95 and 110 % are our choice.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from lab.papers.applications.calls import PlayedCells
from lab.papers.applications.experiments import COMPETES_S, COUNTED_S, DROP_S, ExperimentCell
from lab.papers.applications.statements import ApplicationStatement, Term
from lab.papers.verdicts import NOTHING
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.resampling import interval

_WINDOW_S = 5
_BACK, _ABOVE = 0.95, 1.1
_SETTLED_S = 30


def measure(metric: str, cell: ExperimentCell, played: PlayedCells) -> NDArray[np.float64]:
    """Return a metric (repeats,) of each repeat."""
    return _METRICS[metric](cell, played)


def measured(statement: ApplicationStatement, played: Mapping[ExperimentCell, PlayedCells], queue_ms: float) -> Estimate:
    """Return our value: the weighted sum of the terms per repeat."""
    if not statement.terms:
        return NOTHING
    return interval([np.sum([term.weight * _values(term, played, queue_ms) for term in statement.terms], axis=0)])


def _values(term: Term, played: Mapping[ExperimentCell, PlayedCells], queue_ms: float) -> np.ndarray:
    of_levels = [measure(term.metric, cell, played[cell]) for cell in term.cells(queue_ms)]
    return np.asarray(getattr(np, term.over)(of_levels, axis=0))


def _counted(cell: ExperimentCell, mbps: NDArray[np.float64]) -> NDArray[np.float64]:
    from_s, to_s = COUNTED_S[cell.setup]
    return np.asarray(mbps[:, from_s:to_s].mean(axis=1))


def _settled(mbps: NDArray[np.float64]) -> NDArray[np.float64]:
    to_s = int(COMPETES_S[1])
    return np.asarray(mbps[:, to_s - _SETTLED_S : to_s].mean(axis=1))


def _after_drop(cell: ExperimentCell, played: PlayedCells) -> NDArray[np.float64]:
    """Return (repeats, seconds) the medians of 5 s from the end of the drop on, as multiples of the median before it."""
    from_s, to_s = COUNTED_S[cell.setup]
    before = np.median(played.mbps[:, from_s:to_s], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(played.mbps[:, int(DROP_S[1]) :], _WINDOW_S, axis=1)
    return np.asarray(np.median(windows, axis=2) / before[:, None])


def _recovery_s(cell: ExperimentCell, played: PlayedCells) -> NDArray[np.float64]:
    back = _after_drop(cell, played) >= _BACK
    return np.where(back.any(axis=1), back.argmax(axis=1), back.shape[1]).astype(np.float64)


def _stable_s(cell: ExperimentCell, played: PlayedCells) -> NDArray[np.float64]:
    above = _after_drop(cell, played) > _ABOVE
    return np.where(above.any(axis=1), above.shape[1] - above[:, ::-1].argmax(axis=1), 0).astype(np.float64)


_METRICS: dict[str, Callable[[ExperimentCell, PlayedCells], NDArray[np.float64]]] = {
    "mbps": lambda cell, played: _counted(cell, played.mbps),
    "other_mbps": lambda cell, played: _counted(cell, played.other_mbps),
    "smaller_mbps": lambda cell, played: np.minimum(_settled(played.mbps), _settled(played.other_mbps)),
    "settled_mbps": lambda cell, played: _settled(played.mbps),
    "other_settled_mbps": lambda cell, played: _settled(played.other_mbps),
    "utilisation": lambda cell, played: _counted(cell, played.mbps) / cell.mbps,
    "recovery_s": _recovery_s,
    "peak": lambda cell, played: _after_drop(cell, played).max(axis=1),
    "stable_s": _stable_s,
}
