"""Imputation for `PathHistory`, the one-way delays of each path before the call.

If a rule needs a mean or a variance of every path, a path without one gets the median of the others. Left out: Via's prediction of
unmeasured paths by tomography (Jiang et al., SIGCOMM 2016).
"""

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel

UNKNOWN_VARIANCE_MS2 = 1000.0  # if no path has a known one: the variance of VCRoute's initial belief


@allocating_kernel
def imputed_means(start):
    """Return the historical mean (ms) of each path, (paths,); without history it is the median of the others, or 0."""
    usual_ms = start.mean_ms.copy()
    usual_ms[start.samples < 1] = _known_median(start.mean_ms, start.samples, 1, 0.0)
    return usual_ms


@allocating_kernel
def imputed_variances(start, floor_ms2, otherwise_ms2=UNKNOWN_VARIANCE_MS2):
    """Return the historical variance (ms^2) of each path, (paths,), at least `floor_ms2`.

    A path with fewer than two samples gets the median of the others, or `otherwise_ms2` if no path has a variance.
    """
    variance_ms2 = start.sd_ms**2
    variance_ms2[start.samples < 2] = _known_median(start.sd_ms**2, start.samples, 2, otherwise_ms2)
    return np.maximum(variance_ms2, floor_ms2)


@allocating_kernel
def _known_median(values, samples, min_samples, otherwise):
    """Return the median of the values of paths with at least `min_samples`; `otherwise` if there is none."""
    known = values[samples >= min_samples]
    return np.median(known) if known.size > 0 else otherwise
