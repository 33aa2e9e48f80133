"""Columns of conferences: rates of sessions beside the optimum, delays, losses, recovery, and R of the listeners."""

import numpy as np

from vcgym.leaderboard.results.columns import Anchors, Column, Columns, DelayLoss

ORACLE = "oracle_trees"
_UTILITY = "Mean over sessions and windows of 5 s of ln(kbps + 10), the rate being that of the receiver that heard least"

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
    target=None,
    bands=None,
    published=("CELERITY", "MUTUALCAST", "SIMULCAST", "SFU"),
    anchors=Anchors(hundred=ORACLE, informed="", min_room=0.02),
    fronts=(
        DelayLoss("arrival", "delay_p95_ms", ("lost",), "95th percentile of the delay, mean over conferences", "packets lost", "received"),
    ),
    curves=(("arrival", "Until received"),),
    pairs="kind",
    min_step=0.05,
    footnote=f"All columns: mean over worlds, from second 30 on. Utility: {_UTILITY}. All systems but Celerity and agents are told true "
    "capacities and plan 95 % of them; the oracle is the optimum of two hops so planned.",
    drawn=("CELERITY", "MUTUALCAST", "SIMULCAST", "SFU"),
    oracles=(ORACLE,),
)  # fmt: skip
"""Conferences, ranked by utility: what Celerity maximises."""
