"""Measures of how calls share a bottleneck: the share that they use, and how even their rates are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.shared_link import SharedLink


def jain(rates: ArrayLike) -> NDArray[np.float64]:
    """Return Jain's index over the last axis: (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe, DEC TR-301, 1984)."""
    x = np.asarray(rates, np.float64)
    index: NDArray[np.float64] = x.sum(axis=-1) ** 2 / (x.shape[-1] * (x**2).sum(axis=-1))
    return index


def sharing(link: SharedLink, flows: Sequence[Any]) -> dict[str, float]:
    """Return how calls shared a bottleneck while all were present, from their logs.

    Args:
        link: their world.
        flows: its calls, the first one first: each with its world `link`, its `log` in its own time, and its start, `starts_s`.

    Returns:
        used: share of the capacity that they delivered, 0 to 1; jain: Jain's index of their rates, 1 / n to 1; least: the lowest rate over
        the mean one, 0 to 1; first: that of the first call over the mean one, 0 to n; queueing_ms: mean delay of their packets from capture
        to arrival, without propagation.
    """
    from_us = round(1e6 * max(flow.starts_s for flow in flows))
    to_us = round(1e6 * min(flow.starts_s + flow.link.seconds for flow in flows))
    bits, delays_us = [], []
    for flow in flows:
        log, begins_us = flow.log, round(1e6 * flow.starts_s)
        log = log[(log["arrived_us"] >= max(from_us - begins_us, 0)) & (log["arrived_us"] < to_us - begins_us)]
        bits.append(8.0 * log["size_bytes"].sum())
        delays_us.append(log["arrived_us"] - log["created_us"] - 1000.0 * flow.link.forward_ms)
    capacity_bits = mean_bps(link.trace, link.start_us + from_us, link.start_us + to_us) * (to_us - from_us) * 1e-6
    return {
        "used": sum(bits) / capacity_bits,
        "jain": float(jain(bits)),
        "least": min(bits) / float(np.mean(bits)),
        "first": bits[0] / float(np.mean(bits)),
        "queueing_ms": float(np.concatenate(delays_us).mean()) / 1000.0,
    }
