"""TFRC's throughput equation (RFC 5348 3.1, with b = 1 and t_RTO = 4 R), in bits per second, and its inverse.

    X = 8 s / (R f(p)),   f(p) = sqrt(2 p / 3) + 12 sqrt(3 p / 8) p (1 + 32 p^2)

s: packet size in bytes, R: round-trip time, p: loss event rate in (0, 1]. f grows with p.
"""

import math

from vcgym.network.kernels.jit import kernel

_HALVINGS = 60


@kernel
def slowdown(p):
    """Return f(p)."""
    return math.sqrt(2.0 * p / 3.0) + 12.0 * math.sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p)


@kernel
def throughput_bps(size_bytes, rtt_s, p):
    """Return X in bit/s."""
    return 8.0 * size_bytes / (rtt_s * slowdown(p))


@kernel
def loss_rate_of(size_bytes, rtt_s, rate_bps):
    """Return the p at which X is `rate_bps`, by bisection; 1 if X is larger even then."""
    wanted = 8.0 * size_bytes / (rtt_s * rate_bps)
    low, high = 0.0, 1.0
    if slowdown(high) <= wanted:
        return 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if slowdown(middle) < wanted:
            low = middle
        else:
            high = middle
    return high
