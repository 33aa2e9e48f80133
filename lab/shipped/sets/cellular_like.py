"""Synthetic capacity traces similar to cellular links, from a declared generator; nothing in them is measured.

    rate(t) = median * exp(spread * x(t)) * fade(t)

x is an Ornstein-Uhlenbeck process with standard deviation 1 and correlation time `FORGETS_S`. Fades occur at random, on average every
`FADE_EVERY_S`, last `FADE_S` and reduce the rate to a share `FADE_LEAVES`. The median is log-uniform over `MEDIAN_MBPS`. All numbers are
declared, with magnitudes as in measured 3G and LTE traces.
"""

import math

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.2
LENGTH_S = 120.0
MEDIAN_MBPS = (0.6, 4.0)
SPREAD = 0.45
FORGETS_S = 4.0
FADE_EVERY_S = 20.0
FADE_S = (0.5, 3.0)
FADE_LEAVES = (0.05, 0.2)
MIN_MBPS = 0.05
MAX_MBPS = 20.0


def draw_cellular(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sample times in s and rates in Mbit/s, whole kbit/s, float64 (600,) each."""
    draws = np.random.Generator(np.random.Philox(key=seed))
    times_s = np.round(np.arange(0.0, LENGTH_S, STEP_S), 1)
    median = math.exp(draws.uniform(math.log(MEDIAN_MBPS[0]), math.log(MEDIAN_MBPS[1])))
    keeps = math.exp(-STEP_S / FORGETS_S)
    x = np.empty(len(times_s))
    x[0] = draws.normal()
    for i, drawn in enumerate(draws.normal(size=len(x) - 1), 1):
        x[i] = keeps * x[i - 1] + math.sqrt(1.0 - keeps**2) * drawn
    rates = median * np.exp(SPREAD * x)
    at_s = draws.exponential(FADE_EVERY_S)
    while at_s < LENGTH_S:
        lasts_s = draws.uniform(*FADE_S)
        rates[(times_s >= at_s) & (times_s < at_s + lasts_s)] *= draws.uniform(*FADE_LEAVES)
        at_s += lasts_s + draws.exponential(FADE_EVERY_S)
    return times_s, np.round(np.clip(rates, MIN_MBPS, MAX_MBPS), 3).astype(np.float64)
