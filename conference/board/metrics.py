"""Result rows of finished conferences."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.results.cdf import DelayCdf, count_within

if TYPE_CHECKING:
    from vcgym.conference.rules.play import PlayedConference

COUNTS_FROM_S = 30
WINDOW_S = 5
FLOOR_KBPS = 10.0  # added to rates before their logarithm, as Celerity bounds marginal utility
RECOVERED = 0.9


def metrics(
    played: "PlayedConference", changes_s: list[float], optima_kbps: list[NDArray[np.float64]], r: NDArray[np.float64], bound_ms: float
) -> dict[str, float]:  # fmt: skip
    """Return the metrics of one conference; what was before `COUNTS_FROM_S` does not count.

    Args:
        played: its course, with all arrivals.
        changes_s: instants at which the network changed, the first one 0.
        optima_kbps: (P,) rates of the optimum from each of them on.
        r: (P, P) of each listener, NaN on the diagonal.
        bound_ms: an arrival later than this is late.
    """
    seconds, parties = len(played.kbps), len(played.emitted)
    starts = list(range(COUNTS_FROM_S, seconds - WINDOW_S + 1, WINDOW_S))
    rates = played.window_kbps(COUNTS_FROM_S, WINDOW_S)
    best = np.array(optima_kbps)[np.searchsorted(changes_s, starts, side="right") - 1]
    logs = np.log(rates + FLOOR_KBPS)
    log = played.log[played.log["created_us"] >= COUNTS_FROM_S * 1_000_000]
    delay_ms = (log["arrived_us"] - log["created_us"]) / 1000.0
    due = _due(played, log, parties)
    return {
        "utility": float(logs.mean()),
        "share": float(np.exp((logs - np.log(best + FLOOR_KBPS)).mean())),
        "session_kbps": float(rates.mean()),
        "delay_p95_ms": float(np.percentile(delay_ms, 95.0)) if len(delay_ms) else 0.0,
        "late": float(np.mean(delay_ms > bound_ms)) if len(delay_ms) else 0.0,
        "lost": max(0.0, 1.0 - len(log) / max(due, 1)),
        "recovery_s": _recovery_s(played, changes_s),
        "r": float(np.nanmean(r)),
        "r_p5": float(np.nanpercentile(r, 5.0)),
        "overhead": played.overhead,
    }


def delay_cdf(played: "PlayedConference") -> DelayCdf:
    """Return the distribution of the time from source to receiver over the arrivals that were due."""
    log = played.log[played.log["created_us"] >= COUNTS_FROM_S * 1_000_000]
    return count_within(log["arrived_us"] - log["created_us"], max(_due(played, log, len(played.emitted)), len(log)))


def _due(played: "PlayedConference", log: NDArray[np.void], parties: int) -> int:
    """Return how many arrivals there would have been without loss, what is under way at the end left out."""
    due = 0
    for m in range(parties):
        numbers = log["number"][log["session"] == m]
        due += (parties - 1) * int(numbers.max() - numbers.min() + 1) if len(numbers) else 0
    return due


def _recovery_s(played: "PlayedConference", changes_s: list[float]) -> float:
    """Return after how long the geometric mean of rates has recovered from a change, mean over changes after the start; 0 without one."""
    took_s = []
    for begins_s, ends_s in pairwise([*(int(at_s) for at_s in changes_s if at_s >= COUNTS_FROM_S), len(played.kbps)]):
        if ends_s - begins_s < 2 * WINDOW_S:
            continue
        windows = [np.log(played.session_kbps(at, at + WINDOW_S) + FLOOR_KBPS).mean() for at in range(begins_s, ends_s - WINDOW_S + 1)]
        level = np.log(played.session_kbps((begins_s + ends_s) // 2, ends_s) + FLOOR_KBPS).mean()
        recovered = np.array(windows) >= level + np.log(RECOVERED)
        took_s.append(float(np.argmax(recovered)) if recovered.any() else float(ends_s - begins_s))
    return float(np.mean(took_s)) if took_s else 0.0
