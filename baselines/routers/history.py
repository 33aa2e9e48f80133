"""Readings of `PathHistory`: one-way delays of each path from before the call.

Where a rule needs a mean or a variance of every path, one that has none takes the median of the others'. Left out: Via's prediction of
unmeasured paths by tomography (Jiang et al., SIGCOMM 2016).
"""

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel

UNKNOWN_VARIANCE_MS2 = 1000.0  # where no path has a known one: that of VCRoute's starting belief


@allocating_kernel
def imputed_means(start):
    """Return each path's historical mean (ms), (paths,); one without history takes the median of the others', or 0 where none has any."""
    usual_ms = start.mean_ms.copy()
    usual_ms[start.samples < 1] = known_median(start.mean_ms, start.samples, 1, 0.0)
    return usual_ms


@allocating_kernel
def imputed_variances(start, floor_ms2, otherwise_ms2=UNKNOWN_VARIANCE_MS2):
    """Return each path's variance in history (ms^2), (paths,), at least `floor_ms2`.

    A path of fewer than two samples takes the median of the others', or `otherwise_ms2` where none has a variance.
    """
    variance_ms2 = start.sd_ms**2
    variance_ms2[start.samples < 2] = known_median(start.sd_ms**2, start.samples, 2, otherwise_ms2)
    return np.maximum(variance_ms2, floor_ms2)


@allocating_kernel
def known_median(values, samples, min_samples, otherwise):
    """Return the median of the `values` (paths,) of paths with at least `min_samples` samples; `otherwise` if there is none."""
    known = values[samples >= min_samples]
    return np.median(known) if known.size > 0 else otherwise
