"""Columns of calls over a bottleneck: audio and video on time, rates, delays and queues."""

import numpy as np

from vcgym.leaderboard.results.columns import MEASURED_TIME, Anchors, Column, Columns, DelayLoss

_UTILITY = "Mean per second of 0.6 ln(4 r + 1), less the mean delay beyond propagation in s, less 10 times the share missing; r in Mbit/s"
_ESTIMATE = "second by second, without other flows, both within the range of the call's targets"

METRICS = (
    Column("audio_on_time", "audio on time", "%", 1, 1, "Audio packets that are there by their expiry, of those captured."),
    Column("video_on_time", "video on time", "%", 1, 1, "Video packets that are there by their expiry, of those captured."),
    Column("audio_late", "audio late", "%", 2, -1, "Audio packets received after their expiry, of those captured."),
    Column("video_late", "video late", "%", 2, -1, "Video packets received after their expiry, of those captured."),
    Column("r", "R", "", 1, 1, "E-model of the audio: offset = expiry time, what is not there by then is concealed."),
    Column("utility", "utility", "/s", 2, 1, f"{_UTILITY}."),
    Column("throughput_kbps", "delivered", "kbit/s", 0, 1, "Media delivered, all headers included."),
    Column("utilisation", "of capacity", "%", 1, 0, "Delivered, of the mean capacity of the bottleneck."),
    Column("delay_p50_ms", "delay p50", "ms", 0, -1, "Capture to arrival, median over packets."),
    Column("delay_p95_ms", "delay p95", "ms", 0, -1, "Capture to arrival, 95th percentile."),
    Column("transit_p50_ms", "transit p50", "ms", 0, -1, "Leaving the sender to arrival, median."),
    Column("transit_p95_ms", "transit p95", "ms", 0, -1, "Leaving the sender to arrival, 95th percentile."),
    Column("queueing_ms", "queueing", "ms", 0, -1, "Mean transit beyond propagation: queue, serialisation, outages."),
    Column("waiting_ms", "waiting", "ms", 0, -1, "Mean time in the sender's queue."),
    Column("lost", "lost", "%", 2, -1, "Packets lost or dropped on the way, of those sent."),
    Column("unsent", "unsent", "%", 2, -1, "Packets that a full queue rejected or the sender discarded, of those captured."),
    Column("capacity_error", "capacity error", "", 2, -1, f"Mean of (target / capacity - 1)^2, {_ESTIMATE}."),
    Column("overestimate", "overestimate", "%", 1, -1, f"Mean of max(0, target / capacity - 1), {_ESTIMATE}."),
)

_PUBLISHED = (
    "UNMOD", "SBPN1", "SBPN2", "SBPN2-E", "SBPN2-F", "SBPN2-W", "TFRC-4342", "TFRC-FR", "GCC-DRAFT", "GCC-DRAFT-PRE", "GCC-WEBRTC",
    "GCC-WEBRTC-NOPRE", "NADA", "NADA-XMAX", "SCREAM-V1", "SCREAM-V2",
)  # fmt: skip
ORACLE = "oracle_rate"

RATE = Columns(
    identity={"trace": "string", "capacity_kbps": "float64"} | MEASURED_TIME,
    mark="trace",
    conditions={"data cards": "card"},
    metrics=METRICS,
    ranked_by="utility",
    headline=(
        ("audio / video\non time %", ("audio_on_time", "video_on_time")),
        ("R", ("r",)),
        ("delivered\nkbit/s", ("throughput_kbps",)),
        ("of capacity\n%", ("utilisation",)),
        ("delay p50 /\np95 ms", ("delay_p50_ms", "delay_p95_ms")),
    ),
    details=("audio_late", "video_late", "transit_p50_ms", "transit_p95_ms", "queueing_ms", "waiting_ms",
             "lost", "unsent", "capacity_error", "overestimate"),
    groups=(
        ("Quality", ("utility", "audio_on_time", "video_on_time", "r")),
        ("Late, %", ("audio_late", "video_late")),
        ("Delivered", ("throughput_kbps", "utilisation")),
        ("Delay, ms", ("delay_p50_ms", "delay_p95_ms")),
        ("Transit, ms", ("transit_p50_ms", "transit_p95_ms")),
        ("Mean parts, ms", ("queueing_ms", "waiting_ms")),
        ("Share, %", ("lost", "unsent")),
        ("Target", ("capacity_error", "overestimate")),
    ),
    levels={1.5: "as 3 Mbit/s without delay or loss", 1.0: "as 1.1 Mbit/s", 0.5: "as 0.33 Mbit/s", 0.0: "as nothing sent"},
    levels_title="each utility",
    profile=np.linspace(-4.0, 3.0, 141),
    target=None,
    bands=None,
    published=_PUBLISHED,
    anchors=Anchors(hundred=ORACLE, informed="", min_room=0.05),
    fronts=(
        DelayLoss(
            "arrival", "delay_p95_ms", ("lost", "unsent"), "95th percentile of the delay, mean over calls", "packets lost or never sent",
            "received",
        ),
    ),
    curves=(("arrival", "Until received"),),
    pairs="kind",
    min_step=0.1,
    footnote="All columns: mean over worlds. Delay: from capture to arrival; transit: from leaving the sender to arrival. Curves count "
    f"packets sent, so losses keep them below 100 %. Utility: {_UTILITY}.",
    drawn=("GCC-WEBRTC", "GCC-DRAFT", "SBPN2", "UNMOD", "TFRC-4342", "FIXED"),
    oracles=(ORACLE,),
)  # fmt: skip
"""Calls over a bottleneck, ranked by utility (R3Net, arXiv 1912.02222): what the rate is controlled for."""

RMCAT = RATE._replace(
    mark="jain",
    metrics=(
        *METRICS,
        Column("delay_p99_ms", "delay p99", "ms", 0, -1, "Capture to arrival, 99th percentile."),
        Column("jain", "Jain's index", "", 3, 1, "Of the media flows of the way ahead, in the second half of the time all are there."),
        Column("settling_s", "settling", "s", 1, -1, "From a change until 5 s of the media's rate are within 20 % of its later half."),
    ),
    headline=(
        ("delivered\nkbit/s", ("throughput_kbps",)),
        ("of capacity\n%", ("utilisation",)),
        ("lost\n%", ("lost",)),
        ("delay p95 /\np99 ms", ("delay_p95_ms", "delay_p99_ms")),
        ("Jain's\nindex", ("jain",)),
        ("settling\ns", ("settling_s",)),
    ),
    details=("audio_on_time", "video_on_time", "r", "delay_p50_ms", "queueing_ms", "waiting_ms",
             "unsent", "capacity_error", "overestimate"),
    groups=(
        *RATE.groups[:3],
        ("Delay, ms", ("delay_p50_ms", "delay_p95_ms", "delay_p99_ms")),
        *RATE.groups[4:],
        ("Together", ("jain", "settling_s")),
    ),
    anchors=None,
    footnote=f"{RATE.footnote} All but Jain's index, settling and the share of capacity: mean over the media flows of a case.",
    oracles=(),
)  # fmt: skip
"""The test cases of RFC 8867 in the metrics of RFC 8868, ranked by utility: mean over the media flows, all of which have the same rules."""

ORDER = RATE._replace(
    ranked_by="audio_on_time",
    levels={0.99: "1 % late or missing", 0.95: "5 %", 0.9: "10 %", 0.5: "half"},
    levels_title="each share of audio on time",
    profile=np.linspace(0.0, 1.0, 101),
    target=0.95,
    anchors=None,
    min_step=0.01,
)
"""The same, ranked by the audio that is there in time: what the order of sending is controlled for. No oracle is a bound here."""
