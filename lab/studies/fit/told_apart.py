"""Drawn windows told from measured ones by a classifier: 0.5 if it cannot tell them apart, 1 if it always can.

A measured series is cut in halves. `vcgym.network.fitting.traces` fits the first; a world drawn of the fit is probed in the slots of the
first half, in the resolution of the measurement, and cut into windows of neighbouring probes. A forest is trained to tell windows, by
`FEATURES` of each, and tested on stretches of time that it has not seen. What it can tell of the two measured halves themselves is the
floor: a path changes with time.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, cross_val_score

from vcgym.network.fitting.traces import drawn_us, fit_path, observed
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.trace import Trace

FEATURES = (
    "level", "deviation", "step", "largest step", "lag 1", "lag 5", "lag 20", "skewness", "rise over fall", "peak", "loss", "loss run",
)  # fmt: skip
"""Features of a window, in ms one way: 10 % quantile, deviation, mean and largest step between neighbours; autocorrelation; mean rise over
mean fall; largest delay above the median; share of probes lost and their mean run in probes."""
_STRETCHES, _FOLDS = 10, 5
_TREES_OF_ONE = 20  # of a forest that sees one feature
_LEAST_RESOLUTION_MS = 0.005
_ONE_US_MS = 1e-3


class Told(NamedTuple):
    """Accuracy on unseen stretches, with all features and with the one that tells most alone; number of windows of each kind."""

    accuracy: float
    feature: str
    alone: float
    windows: int


class Likeness(NamedTuple):
    """Accuracies for a drawn half and the measured half it was fitted to, for it and the other half, and for the two measured halves."""

    series: str
    from_fitted: Told
    from_other: Told
    halves: Told
    medians: NDArray[np.float64]  # (3, features): drawn, measured, other half


def likeness(trace: Trace, probes: int, seed: int) -> Likeness:
    """Fit the first half of a series, draw it, and tell windows of `probes` probes apart; `seed` is that of world and forest.

    Raises:
        DataError: the half is too short for a fit.
    """
    parts = halves(trace)
    paths = [observed(trace.name, part) for part in parts]
    asked = [np.unique(part.sent_us // SLOT_US) for part in parts]
    asked = [slots[slots < len(path.delay_us)] for slots, path in zip(asked, paths, strict=True)]
    resolution_ms = _resolution_ms(paths[0].values_ms)
    drawn = drawn_us((fit_path(paths[0]),), len(paths[0].delay_us), lossless=False, seed=seed)[0]
    kinds = [(drawn, asked[0]), *((path.delay_us, slots) for path, slots in zip(paths, asked, strict=True))]
    found, fitted, other = (windows(delay_us[slots], probes, resolution_ms) for delay_us, slots in kinds)
    medians = np.array([np.median(one, axis=0) for one in (found, fitted, other)])
    return Likeness(trace.name, told(found, fitted, seed), told(found, other, seed), told(fitted, other, seed), medians)


def halves(trace: Trace) -> tuple[Trace, Trace]:
    """Return the first and the second half of the probes of a trace."""
    cut = len(trace.sent_us) // 2
    first, second = (
        replace(trace, sent_us=trace.sent_us[part] - trace.sent_us[part][0], one_way_delay_us=trace.one_way_delay_us[part])
        for part in (slice(0, cut), slice(cut, None))
    )
    return first, second


def _resolution_ms(values_ms: NDArray[np.float64]) -> float:
    """Return the smallest difference of two delays (n,)."""
    steps = np.diff(np.unique(np.rint(values_ms / _ONE_US_MS))) * _ONE_US_MS
    return max(float(steps.min(initial=np.inf)) if len(steps) else 0.0, _LEAST_RESOLUTION_MS)


def windows(delay_us: NDArray[np.int64], probes: int, resolution_ms: float) -> NDArray[np.float64]:
    """Return `FEATURES` of each window (windows, features); one with fewer than half of its answers is left out.

    Args:
        delay_us: delay of each probe, or LOST, (n,).
        probes: probes of a window.
        resolution_ms: delays are rounded to it.
    """
    cut = delay_us[: len(delay_us) // probes * probes].reshape(-1, probes)
    return np.array([_features(one, resolution_ms) for one in cut if np.count_nonzero(one != LOST) >= probes // 2])


def _features(delay_us: NDArray[np.int64], resolution_ms: float) -> list[float]:
    lost = delay_us == LOST
    values = np.rint(delay_us[~lost] / 1000.0 / resolution_ms) * resolution_ms
    steps, deviation = np.diff(values), float(values.std()) + _ONE_US_MS
    z = (values - values.mean()) / deviation
    rises, falls = steps[steps > 0.0], -steps[steps < 0.0]
    runs = np.count_nonzero(np.diff(lost.astype(np.int8), prepend=0) == 1)
    return [
        float(np.quantile(values, 0.1)), deviation, float(np.abs(steps).mean()), float(np.abs(steps).max()),
        *(float((z[lag:] * z[:-lag]).sum()) / max(len(z) - lag, 1) for lag in (1, 5, 20)), float((z**3).mean()),
        (rises.sum() / max(len(rises), 1)) / (falls.sum() / max(len(falls), 1) + _ONE_US_MS), float(values.max() - np.median(values)),
        float(lost.mean()), lost.sum() / max(runs, 1),
    ]  # fmt: skip


def told(one: NDArray[np.float64], other: NDArray[np.float64], seed: int) -> Told:
    """Return how well two kinds of windows (windows, features), in order of time, are told apart; as many of each are used."""
    n = min(len(one), len(other))
    features, kind = np.concatenate([one[:n], other[:n]]), np.repeat([0, 1], n)
    stretch = np.tile(np.arange(n) * _STRETCHES // n, 2)

    def accuracy(columns: NDArray[np.float64], trees: int = 100) -> float:
        forest = RandomForestClassifier(trees, min_samples_leaf=5, random_state=seed)
        return float(cross_val_score(forest, columns, kind, groups=stretch, cv=GroupKFold(_FOLDS)).mean())

    alone = [accuracy(features[:, [column]], _TREES_OF_ONE) for column in range(features.shape[1])]
    most = int(np.argmax(alone))
    return Told(accuracy(features), FEATURES[most], alone[most], n)
