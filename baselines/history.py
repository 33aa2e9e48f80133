"""What routers read out of the history of a pair: rows (n, mean ms, sd ms) of one-way delay, one per path, from before the call.

Top-k is stage 2 of Via (Jiang et al., SIGCOMM 2016), which VCRoute takes over: keep the smallest set of paths such that every path outside
it has a lower confidence bound above the largest upper bound inside it. Bounds are mean -+ 1.96 sd / sqrt(n). Left out: Via's prediction of
unmeasured paths by tomography, and refreshing the set during the call.
"""

import math

import numpy as np

from vcgym.network.jit import allocating_kernel

CONFIDENCE_Z = 1.96  # two-sided 95 %


@allocating_kernel
def lower_bound(history, path):
    """Lower confidence bound (ms) of a path's mean delay; -inf below two samples, which say nothing about spread."""
    if history[path, 0] < 2:
        return -math.inf
    return history[path, 1] - CONFIDENCE_Z * history[path, 2] / math.sqrt(history[path, 0])


@allocating_kernel
def upper_bound(history, path):
    """Upper confidence bound (ms) of a path's mean delay; +inf below two samples."""
    if history[path, 0] < 2:
        return math.inf
    return history[path, 1] + CONFIDENCE_Z * history[path, 2] / math.sqrt(history[path, 0])


@allocating_kernel
def keep_top_k(low_ms, high_ms, kept, s):
    """Mark in `kept[s]` (bool, paths) the paths that may still be the best one.

    Args:
        low_ms: (paths,) lower bounds of the mean delays.
        high_ms: (paths,) upper bounds.
        kept: (sessions, paths) bool.
        s: the row that is written.
    """
    kept[s] = False
    best = np.argmin(low_ms)
    kept[s, best] = True
    bound_ms = high_ms[best]
    grew = True
    while grew:
        grew = False
        for path in range(low_ms.size):
            if not kept[s, path] and low_ms[path] <= bound_ms:
                kept[s, path] = True
                bound_ms = max(bound_ms, high_ms[path])
                grew = True


@allocating_kernel
def keep_by_history(history, kept, s):
    """`keep_top_k` with the bounds that `history` (paths, 3) gives."""
    low_ms = np.empty(history.shape[0])
    high_ms = np.empty(history.shape[0])
    for path in range(history.shape[0]):
        low_ms[path] = lower_bound(history, path)
        high_ms[path] = upper_bound(history, path)
    keep_top_k(low_ms, high_ms, kept, s)


@allocating_kernel
def known_median(values, samples, least_samples, otherwise):
    """Median of the `values` (paths,) of paths with at least `least_samples` samples; `otherwise` if there is none."""
    known = values[samples >= least_samples]
    return np.median(known) if known.size > 0 else otherwise
