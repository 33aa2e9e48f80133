"""Columns of calls over paths: delays in both accountings, losses, concealment and the E-model's R.

R has the reduced delay impairment, which is a fit for up to `REDUCED_RANGE_MS` (`vcgym.network.playout.quality`). With longer calls a board
has a second R next to the ranked one, with the whole delay impairment of ITU-T G.107. It follows from two stored columns, the mean
mouth-to-ear delay and the concealed share of a call, as R itself does; it is computed for reports, never stored, and nothing is ranked by
it.
"""

import numpy as np
import pyarrow as pa

from vcgym.leaderboard.results.columns import MEASURED_TIME, Anchors, Column, Columns, DelayLoss
from vcgym.network.playout.quality import REDUCED_RANGE_MS, rating_whole

G114_BANDS = ("<=150", "150-400", ">400")
"""Bands of ITU-T G.114 of a one-way delay in ms: good for most, acceptable with care, beyond it not."""

G109_BANDS = {90.0: "users very satisfied", 80.0: "satisfied", 70.0: "some dissatisfied", 60.0: "many dissatisfied"}
"""Bands of ITU-T G.109 by the R where they begin; below the last one nearly all are dissatisfied."""

_PERCENTILES = ("mean", "p50", "p95", "p99")


def _delays(accounting: str, ends: str) -> tuple[Column, ...]:
    name, about = f"{accounting}_end_to_end_delay", f"of the time from sending to {ends}"
    return (
        Column(f"{name}_mean_ms", "mean", "ms", 0, -1, f"Mean {about}."),
        Column(f"{name}_p50_ms", "p50", "ms", 0, -1, f"Median {about}."),
        Column(f"{name}_p95_ms", "p95", "ms", 0, -1, f"95th percentile {about}."),
        Column(f"{name}_p99_ms", "p99", "ms", 0, -1, f"99th percentile {about}."),
    )


METRICS: tuple[Column, ...] = (
    Column("r", "R", "", 2, 1, "E-model rating of the whole call (0 to 93.2).", centre="iqm"),
    Column("r_p5", "R p5", "", 2, 1, "5th percentile of R over the call's 10-second windows."),
    Column("mos", "MOS", "", 2, 1, "Mean opinion score, 1 to 4.5, from R.", centre="iqm"),
    Column("mouth_to_ear_mean_ms", "mouth to ear", "ms", 0, -1, "Mean offset of the clocked player over its non-silent ticks."),
    Column("g114_band", "G.114 band", "", 0, 0, "Band of the mean mouth-to-ear delay in ms.", type="string"),
    *_delays("clocked", "playing at the listener's clock"),
    *_delays("event", "emission by the receiver"),
    Column("one_way_delay_mean_ms", "one-way", "ms", 1, -1, "Mean arrival minus send, packets emitted before the end of the stream."),
    Column("reordering_delay_mean_ms", "reordering", "ms", 1, -1, "Mean emission minus arrival, the same packets."),
    Column("playout_delay_mean_ms", "playout", "ms", 1, -1, "Mean play minus arrival, packets played."),
    Column("network_loss", "network loss", "%", 2, -1, "Share of packets sent that never arrived."),
    Column("event_late_loss", "late, event", "%", 2, -1, "Share of packets sent that arrived but the receiver discarded."),
    Column("clocked_late_loss", "late, clocked", "%", 2, -1, "Share of packets sent that arrived but were never played."),
    Column("flushed_share", "flushed", "%", 2, 0, "Share of packets sent that came out only when the stream ended."),
    Column("concealed_share", "concealed", "%", 2, -1, "Share of non-silent ticks at which the player had to make up sound."),
    Column("conceal_runs", "runs", "", 1, -1, "Runs of concealed ticks.", type="int64"),
    Column("conceal_run_mean_ms", "run mean", "ms", 0, -1, "Mean length of a run of concealment; 0 without any."),
    Column("conceal_run_longest_ms", "run longest", "ms", 0, -1, "Longest run of concealment."),
    Column("conceal_runs_over_60_ms_share", "long runs", "%", 1, -1, "Share of runs longer than 60 ms (a syllable)."),
    Column("burst_r", "BurstR", "", 2, -1, "Mean run over the mean run of random loss of equal share; 1 without concealment."),
    Column("path_changes", "path changes", "", 0, 0, "Changes of path per call.", type="int64"),
    Column("plans_sent", "plans", "", 0, 0, "Commands sent by the central location per call.", type="int64"),
    Column("probes_sent", "probes", "", 0, 0, "Probes sent on idle paths per call.", type="int64"),
    Column("return_emodel", "return, emodel", "", 2, 1, "Summed E-model reward of the call."),
    Column("return_event", "return, event", "", 2, 1, "Summed event reward of the call."),
)

CLOCKED = DelayLoss(
    "clocked", "clocked_end_to_end_delay_mean_ms", ("concealed_share",), "mean delay played", "ticks concealed", "played"
)  # fmt: skip
EVENT = DelayLoss(
    "event", "event_end_to_end_delay_mean_ms", ("network_loss", "event_late_loss"), "mean delay emitted", "packets never emitted", "emitted"
)  # fmt: skip


def _percentiles(accounting: str) -> tuple[str, ...]:
    return tuple(f"{accounting}_end_to_end_delay_{label}_ms" for label in _PERCENTILES)


PUBLISHED = (
    "DRT-BF", "DRT-BFP", "DRT-WM", "DRT-WML", "VIA-BF", "VIA-BFP", "VIA-WM", "VIA-WML", "VCR-WM", "VCR-WML", "DRT-NEQ", "DRT-EWMA",
    "DRT-QTL",
)  # fmt: skip
"""The VCRoute paper's five systems in each reading, NetEQ and classic adaptive playout."""
ANCHORS = Anchors(hundred="oracle_joint_6", informed="oracle_informed", min_room=0.5)

CALL = Columns(
    identity=dict.fromkeys(("env",), "string")
    | {"packets": "int64"}
    | dict.fromkeys(("latency_from_rtt", "clocked_input", "delay_impairment"), "string")
    | MEASURED_TIME,
    mark="packets",
    conditions={
        "packets per call": "packets", "environment": "env", "data card": "card", "latency from round trip": "latency_from_rtt",
        "clocked input": "clocked_input", "delay impairment": "delay_impairment",
    },
    metrics=METRICS,
    ranked_by="r",
    headline=(
        ("MOS", ("mos",)),
        (f"clocked\n{'/'.join(_PERCENTILES)} ms", _percentiles("clocked")),
        (f"event\n{'/'.join(_PERCENTILES)} ms", _percentiles("event")),
    ),
    details=(
        "r_p5", "one_way_delay_mean_ms", "reordering_delay_mean_ms", "playout_delay_mean_ms", "network_loss", "event_late_loss",
        "clocked_late_loss", "concealed_share", "path_changes", "plans_sent", "probes_sent",
    ),
    groups=(
        ("Quality", ("r_p5", "mos")),
        ("Delay played, ms", _percentiles("clocked")),
        ("Delay emitted, ms", _percentiles("event")),
        ("Mean parts, ms", ("one_way_delay_mean_ms", "reordering_delay_mean_ms", "playout_delay_mean_ms")),
        ("Share, %", ("network_loss", "event_late_loss", "clocked_late_loss", "concealed_share", "conceal_runs_over_60_ms_share")),
        ("Count per call", ("path_changes", "plans_sent", "probes_sent")),
    ),
    levels=G109_BANDS,
    levels_title="each R of ITU-T G.109",
    profile=np.arange(101.0),
    target=80.0,
    bands=("g114_band", G114_BANDS, "Mouth to ear, ms"),
    published=PUBLISHED,
    anchors=ANCHORS,
    fronts=(CLOCKED, EVENT),
    curves=(("event", "Until emitted by the receiver"), ("clocked", "Until played to the listener")),
    pairs="pair",
    min_step=1.0,
    drawn=("DRT-BF", "DRT-WM", "VIA-BF", "VIA-WM", "VCR-BF", "VCR-WM"),
    footnote="R, MOS: interquartile mean over worlds [95 % interval]; all else: mean over worlds. Clocked: what a player of constant pace "
    "plays; event: what the receiver emits. Late is a share of packets sent, concealed a share of 10-ms ticks.",
)  # fmt: skip
"""Calls over paths, ranked by R."""

_DELAY = "mouth_to_ear_mean_ms"
WHOLE = Column("r_g107", "R G.107", "", 2, 1, "R with the whole delay impairment of ITU-T G.107.", centre="iqm")


def share_beyond_range(columns: Columns, rows: pa.Table) -> float:
    """Return the share of rows whose mean mouth-to-ear delay is above `REDUCED_RANGE_MS`; 0 for other suites than of calls over paths."""
    return float((rows[_DELAY].to_numpy() > REDUCED_RANGE_MS).mean()) if _DELAY in columns.metric else 0.0


def long_columns(columns: Columns) -> Columns:
    """Return the columns of a board with the second R: next to MOS in the first text table, and under Quality on the page."""
    groups = tuple((heading, (WHOLE.name, *names) if heading == "Quality" else names) for heading, names in columns.groups)
    return columns._replace(metrics=(*columns.metrics, WHOLE), headline=((WHOLE.label, (WHOLE.name,)), *columns.headline), groups=groups)


def with_whole(rows: pa.Table) -> pa.Table:
    """Return the rows with the column `WHOLE`."""
    values = rating_whole(rows[_DELAY].to_numpy(), rows["concealed_share"].to_numpy())
    return rows.append_column(WHOLE.name, pa.array(values))
