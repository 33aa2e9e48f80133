"""SCReAM version 2, relative frame sizes (draft-johansson-ccwg-rfc8298bis-screamv2 4.2.4): rel_framesize_high.

The 75th percentile of size / (rate * frame period / 8) over the newest 32 frames with a value above 1; at least 1.
The draft uses a histogram, optionally "leaky"; here a new frame replaces the oldest of the 32.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_KEPT = 32
_HIGH = 0.75

FRAMES = np.dtype((np.record, [("high", "f8"), ("seen", "i8"), ("larger", "i8"), ("relative", "f8", (_KEPT,))]))


@kernel
def clear_frames(frames):
    """Remove all frames."""
    frames.high, frames.seen, frames.larger = 1.0, 0, 0


@kernel
def see_frame(frames, status, rate_bps):
    """Add the newest frame if it is new; `status`: status of the sender, `rate_bps`: the encoder's target."""
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
    """Return the smallest of n sizes that at least three quarters of them do not exceed."""
    best = np.inf
    for i in range(n):
        within = 0
        for j in range(n):
            within += sizes[j] <= sizes[i]
        if within >= _HIGH * n:
            best = min(best, sizes[i])
    return best
