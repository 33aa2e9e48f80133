"""One number from the values of many worlds. All take values (..., W) and sum up the last axis.

Source: Agarwal, Schwarzer, Castro, Courville and Bellemare, Deep reinforcement learning at the edge of the statistical precipice (NeurIPS
2021, arXiv 2108.13264), sections 4.1 to 4.3; their task is a kind of world here, their run a world of it.
"""

import numpy as np
from scipy import stats


def mean(values: np.ndarray) -> np.ndarray:
    """Mean over worlds."""
    return values.mean(axis=-1)


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the middle half: a quarter of the worlds is cut off at each end, rounded down."""
    return stats.trim_mean(values, 0.25, axis=-1)


def median(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Median over kinds of the mean within a kind; each kind counts once, however many worlds it has.

    Args:
        values: worlds of one kind stand together.
        starts: where each kind begins.
    """
    sizes = np.diff(np.append(starts, values.shape[-1]))
    return np.median(np.add.reduceat(values, starts, axis=-1) / sizes, axis=-1)


def optimality_gap(values: np.ndarray, target: float) -> np.ndarray:
    """How far worlds fall short of `target` on average; what lies above it does not make up for what lies below."""
    return target - np.minimum(values, target).mean(axis=-1)


def probability_of_improvement(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Probability that a run of one system is above a run of another on the same task, averaged over tasks; a tie counts half.

    Per task it is the Mann-Whitney statistic over its greatest value. With one run per task, a world, it is the share of worlds won.

    Args:
        values: (..., tasks, runs) of the one system.
        others: (..., tasks, runs) of the other, not necessarily as many runs.
    """
    above = values[..., :, None] - others[..., None, :]
    return (0.5 + 0.5 * np.sign(above)).mean(axis=(-3, -2, -1))


def performance_profile(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """(len(thresholds), ...) share of worlds above each threshold (their run-score distribution)."""
    return np.stack([(values > threshold).mean(axis=-1) for threshold in thresholds])
