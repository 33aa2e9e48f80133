"""Units and ranges of features: delays in 100 ms, ages in seconds, lags and rates as positions on a log scale; small values compressed."""

import math

from vcgym.network.kernels.jit import kernel

LIMIT = 20.0
PER_100_MS, PER_SECOND = 0.01, 1e-6  # factors, since a division costs as much as the rest of a feature

PER_20_MS = 5.0  # from 100 ms
DELAY, SHARE, AGE = (PER_20_MS, "20 ms"), (100.0, "percent"), (5.0, "200 ms")  # factor and unit of values that are compressed

MIN_LAG_US, MAX_LAG_US = 10_000, 1_000_000
LAG_RATIO_LOG = math.log(MAX_LAG_US / MIN_LAG_US)


@kernel
def within(value, low, high):
    """Return `value` clipped to [low, high]."""
    return min(max(value, low), high)


@kernel
def compressed(value):
    """Return a value compressed to -1..1; small values hardly change."""
    return value / math.sqrt(1.0 + value * value)


@kernel
def lag_position(lag_us):
    """Return the position of a lag on the log scale, -1 (10 ms or less) to 1 (1 s or more)."""
    inside = min(max(lag_us, MIN_LAG_US), MAX_LAG_US)
    return 2.0 * math.log(inside / MIN_LAG_US) / LAG_RATIO_LOG - 1.0


@kernel
def rate_position(bps, min_bps, max_bps):
    """Return the position of a rate on the log scale between two rates, -1 (`min_bps` or less) to 1 (`max_bps` or more)."""
    if max_bps <= min_bps:
        return 0.0
    inside = min(max(bps, min_bps), max_bps)
    return 2.0 * math.log(inside / min_bps) / math.log(max_bps / min_bps) - 1.0
