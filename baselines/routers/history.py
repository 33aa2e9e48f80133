"""What routers read out of the history of a pair: rows (n, mean ms, sd ms) of one-way delay, one per path, from before the call.

Where a rule needs a mean or a variance of every path, one that has none takes the median of the others'. Left out: Via's prediction of
unmeasured paths by tomography (Jiang et al., SIGCOMM 2016).
"""

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel

UNKNOWN_VARIANCE_MS2 = 1000.0  # where no path has a known one: that of VCRoute's starting belief


@allocating_kernel
def usual_means(history):
    """(paths,) each path's historical mean (ms); one without history takes the median of the others', or 0 where none has any."""
    usual_ms = history[:, 1].copy()
    usual_ms[history[:, 0] < 1] = known_median(history[:, 1], history[:, 0], 1, 0.0)
    return usual_ms


@allocating_kernel
def usual_variances(history, floor_ms2, otherwise_ms2):
    """(paths,) each path's variance in history (ms^2), at least `floor_ms2`.

    A path of fewer than two samples takes the median of the others', or `otherwise_ms2` where none has a variance.
    """
    variance_ms2 = history[:, 2] ** 2
    variance_ms2[history[:, 0] < 2] = known_median(history[:, 2] ** 2, history[:, 0], 2, otherwise_ms2)
    return np.maximum(variance_ms2, floor_ms2)


@allocating_kernel
def known_median(values, samples, least_samples, otherwise):
    """Median of the `values` (paths,) of paths with at least `least_samples` samples; `otherwise` if there is none."""
    known = values[samples >= least_samples]
    return np.median(known) if known.size > 0 else otherwise
