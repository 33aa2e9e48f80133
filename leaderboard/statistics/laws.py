"""Student's and the normal law, for any number of degrees of freedom, whole or not."""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr, stdtrit

NORMAL = NormalDist()


def student_beyond(t: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the share of Student's law above `t`."""
    return np.asarray(stdtr(freedom, -np.asarray(t)))


def student_quantile(beyond: float, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the value that Student's law exceeds with probability `beyond`."""
    return -np.asarray(stdtrit(freedom, beyond))


def as_normal(t: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal number that is exceeded with the same probability as `t` of Student's law; NaN stays NaN."""
    return -np.asarray(ndtri(student_beyond(np.abs(t), freedom))) * np.sign(t)
