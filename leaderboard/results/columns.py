"""What a result row holds, column by column: the one list that metrics, files, tables and the report page read.

Names follow the project's vocabulary and carry units; shares lie in 0..1 in files and are shown in percent.
"""

import math
from typing import NamedTuple


class Column(NamedTuple):
    """One measured column.

    Attributes:
        name: key of the row and of the file.
        label: short heading for a table.
        unit: unit as shown; "%" means the stored share times 100.
        decimals: decimals shown.
        better: +1 if more is better, -1 if less is better, 0 if neither.
        about: one sentence saying what it is.
        type: Arrow type name of the stored value.
        centre: how worlds are summed up in tables, "mean" or "iqm" (interquartile mean).
    """

    name: str
    label: str
    unit: str
    decimals: int
    better: int
    about: str
    type: str = "float64"
    centre: str = "mean"


G114_BANDS = ("<=150", "150-400", ">400")
"""Bands of ITU-T G.114 of a one-way delay in ms: good for most, acceptable with care, beyond it not."""

IDENTITY: dict[str, str] = {
    "system": "string",
    "kind": "string",
    "suite": "string",
    "suite_version": "string",
    "mode": "string",
    "scenario": "string",
    "stratum": "string",
    "split": "string",
    "pair": "string",
    "seed": "int64",
    "card": "string",
    "env": "string",
    "packets": "int64",
    "latency_from_rtt": "string",
    "clocked_input": "string",
    "delay_impairment": "string",
    "training_decisions": "int64",
    "tuning_trials": "int64",
    "parameters": "int64",
}
"""Columns that say what was run where, with their Arrow types; `card` is the hash of the data behind the world.

The last three are what a system took: decisions an agent was trained on, settings tried before a rule's or an agent's were chosen, and how
many numbers the system consists of.
"""

EFFORT = ("training_decisions", "tuning_trials", "parameters")

WORLD: tuple[str, ...] = ("mode", "scenario", "stratum", "split", "pair", "seed")
"""Columns that together name one world; with `system` they are the key of a row."""


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
    Column("plans_sent", "plans", "", 0, 0, "Commands sent by the central place per call.", type="int64"),
    Column("probes_sent", "probes", "", 0, 0, "Probes sent on idle paths per call.", type="int64"),
    Column("return_emodel", "return, emodel", "", 2, 1, "Summed E-model reward of the call."),
    Column("return_event", "return, event", "", 2, 1, "Summed event reward of the call."),
)

METRIC: dict[str, Column] = {column.name: column for column in METRICS}


def shown(column: Column, value: float) -> str:
    """`value` of `column` as a table shows it: percent for shares, rounded, "n/a" where there is none; the unit is left to the heading."""
    if not math.isfinite(value):
        return "n/a"
    return f"{value * 100.0 if column.unit == '%' else value:.{column.decimals}f}"
