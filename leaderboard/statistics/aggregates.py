"""Aggregates of the values of many worlds. All functions take values (..., W) and reduce the last axis.

Source: Agarwal, Schwarzer, Castro, Courville and Bellemare, Deep reinforcement learning at the edge of the statistical precipice (NeurIPS
2021, arXiv 2108.13264), sections 4.1 to 4.3; their tasks are kinds of worlds here, their runs are worlds.
"""

import numpy as np

INTERQUARTILE = 0.25
"""Share of the worlds that the interquartile mean cuts off at each end."""


def trimmed_mean(values: np.ndarray, trim: float) -> np.ndarray:
    """Return the mean without the share `trim` of the worlds at each end (number rounded down)."""
    count = values.shape[-1]
    if not trim or not count:
        return values.mean(axis=-1)
    cut = int(trim * count)
    kept = np.partition(values, (cut, count - cut - 1), axis=-1)[..., cut : count - cut]
    return np.where(np.isnan(values).any(axis=-1), np.nan, kept.mean(axis=-1))


def median(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the median over kinds of the mean within a kind; each kind counts once, whatever its number of worlds.

    Args:
        values: values, with worlds of the same kind adjacent.
        starts: index of the first world of each kind.
    """
    sizes = np.diff(np.append(starts, values.shape[-1]))
    return np.median(np.add.reduceat(values, starts, axis=-1) / sizes, axis=-1)


def optimality_gap(values: np.ndarray, target: float) -> np.ndarray:
    """Return the mean shortfall of worlds to `target`; values above it do not compensate for values below."""
    return target - np.minimum(values, target).mean(axis=-1)


def probability_of_improvement(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the probability that a run of a system exceeds a run of another on the same task, averaged over tasks; ties count half.

    Per task it is the Mann-Whitney statistic divided by its maximum. With one run per task (world) it is the share of worlds won.

    Args:
        values: (..., tasks, runs) values of the first system.
        others: (..., tasks, runs) values of the other system; the number of runs may differ.
    """
    above = values[..., :, None] - others[..., None, :]
    return (0.5 + 0.5 * np.sign(above)).mean(axis=(-3, -2, -1))


def performance_profile(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the (len(thresholds), ...) share of worlds above each threshold (their run-score distribution)."""
    return np.stack([(values > threshold).mean(axis=-1) for threshold in thresholds])
