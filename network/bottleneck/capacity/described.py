"""A capacity trace in one line: what came out of an import."""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import OPPORTUNITY_BYTES, CapacityTrace
from vcgym.network.bottleneck.capacity.files import MIN_BPS

WINDOW_US = 100_000
"""Opportunities are counted in windows of this length; a rate counts by the time that it lasts."""

_QUANTILES = (0.05, 0.5, 0.95)


def describe_capacity(trace: CapacityTrace) -> str:
    """Return duration, quantiles over time and share of time without capacity, in one line."""
    bps, weights = _rates_over_time(trace)
    order = np.argsort(bps, kind="stable")
    places = np.searchsorted(np.cumsum(weights[order]), np.array(_QUANTILES) * weights.sum())
    low, median, high = bps[order][np.minimum(places, len(bps) - 1)] / 1e6
    without = 100.0 * weights[bps <= (MIN_BPS if trace.rates_bps[0] else 0.0)].sum() / weights.sum()
    raised = f" ({MIN_BPS / 1e3:g} kbit/s or raised to it)" if trace.rates_bps[0] and without else ""
    return (
        f"{len(bps) if trace.rates_bps[0] else len(trace.times_us):,} {'rates' if trace.rates_bps[0] else 'opportunities'} over "
        f"{trace.length_us / 1e6:.4g} s, Mbit/s p5 {low:.3g}, p50 {median:.3g}, p95 {high:.3g}, smallest {bps.min() / 1e6:.3g}, "
        f"largest {bps.max() / 1e6:.3g}, {without:.3g} % of the time without capacity{raised}{_conditions(trace, weights)}"
    )


def _conditions(trace: CapacityTrace, weights: NDArray[np.float64]) -> str:
    if trace.conditions is None:
        return ""
    delay_us, jitter_us, loss = trace.conditions
    jitter = f" with jitter of up to {jitter_us.max() / 1e3:.4g} ms" if jitter_us.any() else ""
    return (
        f", one-way delay {delay_us.min() / 1e3:.4g} to {delay_us.max() / 1e3:.4g} ms{jitter}, "
        f"loss {100.0 * loss.min():.3g} to {100.0 * loss.max():.3g} %, mean {100.0 * np.average(loss, weights=weights):.3g} %"
    )


def _rates_over_time(trace: CapacityTrace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rates (n,) in bit/s and how long each lasts (n,)."""
    if trace.rates_bps[0]:
        return trace.rates_bps.astype(np.float64), np.diff(trace.times_us, append=trace.length_us).astype(np.float64)
    ends_us = np.append(np.arange(0, trace.length_us, WINDOW_US), trace.length_us)
    before = np.searchsorted(trace.times_us, ends_us, "right")
    before[0] = 0
    lasts_us = np.diff(ends_us).astype(np.float64)
    return np.diff(before) * OPPORTUNITY_BYTES * 8e6 / lasts_us, lasts_us
