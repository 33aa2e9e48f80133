"""Columns of conferences: rates of sessions next to the optimum, delays, losses, recovery, and R of the listeners."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.trees import DELAY_BOUND_MS
from vcgym.conference.rules.play import PlayedConference
from vcgym.leaderboard.evaluation.kinds.kind import delays_of
from vcgym.leaderboard.results.cdf import count_within
from vcgym.leaderboard.results.columns import Column, Columns, DelayLoss

ORACLE = "oracle_trees"
COUNTS_FROM_S = 30
WINDOW_S = 5
FLOOR_KBPS = 10.0  # added to rates before their logarithm, as Celerity bounds marginal utility
RECOVERED = 0.9
_UTILITY = "Mean over sessions and windows of 5 s of ln(kbps + 10), the rate being that of the receiver that got least"

CONFERENCE = Columns(
    identity={"parties": "int64"},
    mark="parties",
    conditions={"data cards": "card"},
    metrics=(
        Column("utility", "utility", "", 3, 1, f"{_UTILITY}."),
        Column("share", "of optimum", "%", 1, 1, "Geometric mean of kbps + 10 over that of the exact optimum of two hops."),
        Column("session_kbps", "rate", "kbit/s", 0, 1, "Mean rate of a session, headers included."),
        Column("delay_p95_ms", "delay p95", "ms", 0, -1, "From the source to a receiver, 95th percentile over arrivals."),
        Column("late", "late", "%", 2, -1, "Arrivals later than the bound of 200 ms."),
        Column("lost", "lost", "%", 2, -1, "Packets that a receiver was due and that never arrived."),
        Column("recovery_s", "recovery", "s", 1, -1, "From a change until 5 s of the rates are at 90 % of their later level."),
        Column("r", "R", "", 1, 1, "E-model: each listener of each session as a call, mean over listeners."),
        Column("r_p5", "R p5", "", 1, 1, "5th percentile of R over listeners."),
        Column("overhead", "overhead", "%", 2, -1, "Headers, coded packets and messages in all that entered overlay links."),
    ),
    ranked_by="utility",
    headline=(
        ("of optimum\n%", ("share",)),
        ("rate\nkbit/s", ("session_kbps",)),
        ("delay p95\nms", ("delay_p95_ms",)),
        ("late / lost\n%", ("late", "lost")),
        ("R / p5", ("r", "r_p5")),
    ),
    details=("recovery_s", "overhead"),
    groups=(
        ("Rates", ("utility", "share", "session_kbps")),
        ("Delay", ("delay_p95_ms", "late")),
        ("Share, %", ("lost", "overhead")),
        ("After a change, s", ("recovery_s",)),
        ("Listeners", ("r", "r_p5")),
    ),
    levels={np.log(410.0).item(): "as 400 kbit/s each", np.log(210.0).item(): "as 200", np.log(110.0).item(): "as 100"},
    levels_title="each utility",
    profile=np.linspace(2.0, 8.0, 121),
    published=("CELERITY", "MUTUALCAST", "SIMULCAST", "SFU"),
    hundred=ORACLE,
    min_headroom=0.02,
    fronts=(
        DelayLoss("arrival", "delay_p95_ms", ("lost",), "95th percentile of the delay, mean over conferences", "packets lost", "received"),
    ),
    curves=(("arrival", "Until received"),),
    pairs="kind",
    min_step=0.05,
    footnote=f"All columns: mean over worlds, from second 30 on. Utility: {_UTILITY}. All systems but Celerity and agents know true "
    "capacities and plan 95 % of them; the oracle is the optimum of two hops so planned.",
    drawn=("CELERITY", "MUTUALCAST", "SIMULCAST", "SFU"),
    oracles=(ORACLE,),
)  # fmt: skip
"""Conferences, ranked by utility: what Celerity maximises."""


def outcome(
    played: PlayedConference, changes_s: list[float], optima_kbps: list[NDArray[np.float64]], r: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the metrics of one conference, and the distribution of its delay; what was before `COUNTS_FROM_S` does not count.

    Args:
        played: its time series, with all arrivals.
        changes_s: instants at which the network changed, the first one 0.
        optima_kbps: (P,) rates of the optimum from each of them on.
        r: (P, P) of each listener, NaN on the diagonal.
    """
    seconds, parties = len(played.kbps), len(played.emitted)
    starts = list(range(COUNTS_FROM_S, seconds - WINDOW_S + 1, WINDOW_S))
    rates = played.window_kbps(COUNTS_FROM_S, WINDOW_S)
    best = np.array(optima_kbps)[np.searchsorted(changes_s, starts, side="right") - 1]
    logs = np.log(rates + FLOOR_KBPS)
    log = played.log[played.log["created_us"] >= COUNTS_FROM_S * 1_000_000]
    delay_ms = (log["arrived_us"] - log["created_us"]) / 1000.0
    due = _due(log, parties)
    arrivals = count_within(log["arrived_us"] - log["created_us"], max(due, len(log)))
    return {
        "utility": float(logs.mean()),
        "share": float(np.exp((logs - np.log(best + FLOOR_KBPS)).mean())),
        "session_kbps": float(rates.mean()),
        "delay_p95_ms": float(np.percentile(delay_ms, 95.0)) if len(delay_ms) else 0.0,
        "late": float(np.mean(delay_ms > DELAY_BOUND_MS)) if len(delay_ms) else 0.0,
        "lost": max(0.0, 1.0 - len(log) / max(due, 1)),
        "recovery_s": _recovery_s(played, changes_s),
        "r": float(np.nanmean(r)),
        "r_p5": float(np.nanpercentile(r, 5.0)),
        "overhead": played.overhead,
        "delays": delays_of({"arrival": arrivals}),
    }


def _due(log: NDArray[np.void], parties: int) -> int:
    """Return how many arrivals there would have been without loss, what is under way at the end left out."""
    due = 0
    for m in range(parties):
        numbers = log["number"][log["session"] == m]
        due += (parties - 1) * int(numbers.max() - numbers.min() + 1) if len(numbers) else 0
    return due


def _recovery_s(played: PlayedConference, changes_s: list[float]) -> float:
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
