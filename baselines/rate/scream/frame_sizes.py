"""SCReAM version 2, how large frames are (draft-johansson-ccwg-rfc8298bis-screamv2 4.2.4): rel_framesize_high.

Of the newest 32 frames that were larger than their share of the rate, the 75th percentile of size / (rate * frame period / 8); at least 1.
The draft keeps a histogram, "leaky" if one wants; here the oldest of the 32 leaves.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_KEPT = 32
_HIGH = 0.75

FRAMES = np.dtype((np.record, [("high", "f8"), ("seen", "i8"), ("larger", "i8"), ("relative", "f8", (_KEPT,))]))


@kernel
def clear_frames(frames):
    """Forget all frames."""
    frames.high, frames.seen, frames.larger = 1.0, 0, 0


@kernel
def see_frame(frames, status, rate_bps):
    """Take in the newest frame if it is new; `status`: of the sender, `rate_bps`: what the encoder was asked for."""
    if status.frames == frames.seen:
        return
    frames.seen = status.frames
    size = 8e6 * status.frame_bytes / (rate_bps * status.frame_us)
    if size > 1.0:
        frames.relative[frames.larger % _KEPT] = size
        frames.larger += 1
        frames.high = _percentile(frames.relative, min(frames.larger, _KEPT))


@kernel
def _percentile(sizes, n):
    """Return the least of n sizes that three quarters of them do not exceed."""
    best = np.inf
    for i in range(n):
        within = 0
        for j in range(n):
            within += sizes[j] <= sizes[i]
        if within >= _HIGH * n:
            best = min(best, sizes[i])
    return best
