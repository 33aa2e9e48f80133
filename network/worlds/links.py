"""Links as rows of numbers, and the parameters that modes paper and correlated derive from them.

A row (dtype `LINK`) holds the fitted distribution of one link, in round-trip times; `nan` marks an unknown parameter.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.cards import Link
from vcgym.network.worlds.quantiles import beta_table, lognormal_table

BURSTS = ("worst", "median")
_LAW = ("low_ms", "high_ms", "a", "b")
LINK = np.dtype(
    [(name, "f8") for name in ("base_ms", "log_mean", "log_sd", "loss")]
    + [(f"{burst}_{name}", "f8") for burst in ("median", "worst") for name in _LAW]
    + [("bad_share", "f8"), ("bad_level_ms", "f8")]
)


def row_of(link: Link) -> tuple[float, ...]:
    """Return a table's link as a row; a link without statistics of bad hours gets share 0."""
    laws = (tuple(getattr(law, name) for name in _LAW) if law is not None else (math.nan,) * 4 for law in (link.median, link.worst))
    hours = link.bad_hours
    return (
        link.queue.base_ms, link.queue.log_mean, link.queue.log_sd, link.loss or 0.0, *next(laws), *next(laws),
        hours.share if hours else 0.0, hours.level_ms if hours else 0.0,
    )  # fmt: skip


def paper_parameters(rows: NDArray[Any], burst: str, share_of_rtt: float) -> dict[str, Any]:
    """Return the parameters of `Paper`: per link a quantile table of its Beta law for `burst`, else the other burst, else queueing."""
    other = BURSTS[1 - BURSTS.index(burst)]
    tables = []
    for row in rows:
        known = next((name for name in (burst, other) if not math.isnan(row[f"{name}_a"])), None)
        if known is None:
            tables.append(_queue_quantiles(row["base_ms"], row["log_mean"], row["log_sd"]))
        else:
            tables.append(_beta_quantiles(*(row[f"{known}_{name}"] for name in _LAW)))
    return {"quantiles_ms": np.array(tables) * share_of_rtt, "loss": rows["loss"].copy()}


def correlated_parameters(rows: NDArray[Any], tau_ms: float, share_of_rtt: float) -> dict[str, Any]:
    """Return the parameters of `Correlated` for links in an ordinary hour."""
    return {
        "base_ms": rows["base_ms"] * share_of_rtt,
        "log_mean": rows["log_mean"] + math.log(share_of_rtt),
        "log_sd": rows["log_sd"].copy(),
        "loss": rows["loss"].copy(),
        "tau_ms": tau_ms,
    }


# Making a table takes about as long as playing a call, and all pairs share the links between relays.
_beta_quantiles = functools.lru_cache(maxsize=4096)(beta_table)
_queue_quantiles = functools.lru_cache(maxsize=4096)(lognormal_table)
