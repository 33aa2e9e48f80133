"""Columns of calls whose packets pass a shared bottleneck and then paths: those of the paths, of the sender, and the share taken."""

from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.columns import Column, with_columns
from vcgym.leaderboard.results.sender_columns import RATE

TAKEN = Column("taken_share", "taken", "%", 1, 0, "Of what all flows of the bottleneck deliver, beyond an equal share; 0 without others.")

AFTER_SENDER = CALL._replace(
    mark=TAKEN.name,
    metrics=(*CALL.metrics, TAKEN),
    headline=(
        ("video\non time %", ("video_on_time",)),
        ("rate\nutility", ("utility",)),
        ("taken\n%", (TAKEN.name,)),
        ("mouth to\near ms", ("mouth_to_ear_mean_ms",)),
        ("concealed\n%", ("concealed_share",)),
        ("delivered\nkbit/s", ("throughput_kbps",)),
    ),
    groups=(CALL.groups[0], ("Video, rate and others", ("video_on_time", "utility", TAKEN.name)), *CALL.groups[1:]),
    published=("CALL-PLAIN", "CALL-PAPERS"),
    anchors=None,
    drawn=("CALL-PLAIN", "CALL-PAPERS", "learned-whole"),
    footnote=f"{CALL.footnote} Video on time, utility and delivered: over bottleneck and path together, from capture to arrival. Taken: "
    "share of what all flows deliver, beyond an equal one. Utility, transit and queueing count the delay of the path too.",
)  # fmt: skip
"""Calls over paths behind a sender, ranked by R of the audio."""

WHOLE = with_columns(AFTER_SENDER, RATE)
"""The same with the columns of the sender."""
