"""Result rows of finished calls: delays in both accountings, losses, concealment and the E-model score; and timelines of a few sessions.

`event`: a packet's delay ends when the receiver emits it; packets flushed at the end of the stream have none. `clocked`: it ends at the
tick at which a player of constant pace plays it. Percentiles interpolate linearly between order statistics.

R has the reduced delay impairment, which is a fit for up to `REDUCED_RANGE_MS` (`vcgym.network.playout.quality`). With longer calls a board
has a second R next to the ranked one, with the whole delay impairment of ITU-T G.107. It follows from two stored columns, the mean
mouth-to-ear delay and the concealed share of a call, as R itself does; it is computed for reports, never stored, and nothing is ranked by
it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from vcgym.envs.call.counters import WINDOW_TICKS
from vcgym.leaderboard.results.columns import Column, Columns
from vcgym.network.playout.player import UNIT_US
from vcgym.network.playout.quality import REDUCED_RANGE_MS, mos, rating, rating_whole

if TYPE_CHECKING:
    from vcgym.envs.call.batch import Played

TICK_MS = UNIT_US / 1000.0
BINS = 200  # maximum, of a timeline


def rows(played: "Played", **identity: Any) -> list[dict[str, Any]]:
    """Return one row per session of a finished batch.

    Args:
        played: S finished sessions.
        **identity: identity columns; a string or number applies to every session, a sequence of S has one value per session.

    Returns:
        S rows, identity columns first, then every metric of `kinds.CALL`. A delay without packets is NaN.

    Raises:
        ValueError: an identity sequence is not S long.
    """
    sessions = len(played.path)
    for name, value in identity.items():
        if _varies(value) and len(value) != sessions:
            raise ValueError(f"identity column {name!r} has {len(value)} values for {sessions} sessions")
    return [{name: value[s] if _varies(value) else value for name, value in identity.items()} | _call(played, s) for s in range(sessions)]


def g114_band(mouth_to_ear_ms: float) -> str:
    """Return the band of ITU-T G.114 of a one-way delay in ms: good for most, acceptable with care, beyond it not."""
    return "<=150" if mouth_to_ear_ms <= 150.0 else "150-400" if mouth_to_ear_ms <= 400.0 else ">400"


def _varies(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def _call(played: "Played", s: int) -> dict[str, Any]:
    sent_us = np.arange(played.arrived_us.shape[1], dtype=np.int64) * played.packet_us
    arrived_us, emitted_us, played_us = played.arrived_us[s], played.emitted_us[s], played.played_us[s]
    arrived, flushed, is_played = arrived_us >= 0, played.flushed[s], played_us >= 0
    emitted = (emitted_us >= 0) & ~flushed
    return {
        **_score(played, s),
        **_delay_statistics("clocked", (played_us - sent_us)[is_played]),
        **_delay_statistics("event", (emitted_us - sent_us)[emitted]),
        "one_way_delay_mean_ms": _mean_ms((arrived_us - sent_us)[emitted]),
        "reordering_delay_mean_ms": _mean_ms((emitted_us - arrived_us)[emitted]),
        "playout_delay_mean_ms": _mean_ms((played_us - arrived_us)[is_played]),
        "network_loss": float(np.mean(~arrived)),
        "event_late_loss": float(np.mean(arrived & (emitted_us < 0))),
        "clocked_late_loss": float(np.mean(arrived & ~is_played)),
        "flushed_share": float(np.mean(flushed)),
        **_concealment(played, s),
        **{name: int(getattr(played.totals, name)[s]) for name in ("path_changes", "plans_sent", "probes_sent")},
        **{name: float(getattr(played.totals, name)[s]) for name in ("return_emodel", "return_event")},
    }


def _score(played: "Played", s: int) -> dict[str, Any]:
    """Return R and MOS of the whole call, and the 5th percentile of R over its 10-s windows.

    Windows with sound in under half of their ticks (in most calls, the last one) are left out; if none remains, the whole call is the
    window.
    """
    totals, ticks = played.totals, _sounding_ticks(played, s)
    mouth_to_ear_ms = float(totals.offset_us_sum[s]) / ticks / 1000.0 if ticks else float("nan")
    r = _rating(ticks, int(totals.ticks_concealed[s]), int(totals.offset_us_sum[s]))
    full = [_rating(*map(int, window)) for window in played.windows[s] if 2 * window[0] >= WINDOW_TICKS]
    return {
        "r": r,
        "r_p5": float(np.percentile(full or [r], 5.0)),
        "mos": float(mos(r)) if ticks else float("nan"),
        "mouth_to_ear_mean_ms": mouth_to_ear_ms,
        "g114_band": g114_band(mouth_to_ear_ms) if ticks else "none",
    }


def _rating(ticks: int, concealed: int, offset_us_sum: int) -> float:
    return float(rating(offset_us_sum / ticks / 1000.0, concealed / ticks)) if ticks else float("nan")


def _sounding_ticks(played: "Played", s: int) -> int:
    totals = played.totals
    return int(totals.ticks_played[s] + totals.ticks_stretched[s] + totals.ticks_concealed[s])


def _concealment(played: "Played", s: int) -> dict[str, Any]:
    """Return the share of ticks concealed, its runs, and BurstR of ITU-T G.107: mean run / mean run of random loss, 1 / (1 - share)."""
    totals, ticks = played.totals, _sounding_ticks(played, s)
    concealed, runs = int(totals.ticks_concealed[s]), int(totals.conceal_runs[s])
    share = concealed / ticks if ticks else float("nan")
    run_ticks = concealed / runs if runs else 0.0
    return {
        "concealed_share": share,
        "conceal_runs": runs,
        "conceal_run_mean_ms": run_ticks * TICK_MS,
        "conceal_run_longest_ms": float(totals.conceal_longest_ticks[s]) * TICK_MS,
        "conceal_runs_over_60_ms_share": float(totals.conceal_runs_long[s]) / runs if runs else 0.0,
        "burst_r": run_ticks * (1.0 - share) if runs else 1.0,
    }


def _delay_statistics(accounting: str, delay_us: np.ndarray) -> dict[str, float]:
    percentiles = np.percentile(delay_us, (50.0, 95.0, 99.0)) / 1000.0 if delay_us.size else np.full(3, np.nan)
    name = f"{accounting}_end_to_end_delay"
    return {f"{name}_mean_ms": _mean_ms(delay_us)} | {
        f"{name}_{label}_ms": float(value) for label, value in zip(("p50", "p95", "p99"), percentiles, strict=True)
    }


def _mean_ms(delay_us: np.ndarray) -> float:
    return float(delay_us.mean()) / 1000.0 if delay_us.size else float("nan")


def timelines(
    played: "Played", names: Sequence[tuple[str, int]], worlds: Sequence[tuple[str, int]], paths: Sequence[str]
) -> dict[int, dict[str, Any]]:  # fmt: skip
    """Return the timelines of those sessions that are saved, by session: the first world of a part of a suite, and the one in its middle.

    Args:
        played: finished sessions.
        names: world of each session, its pair and seed.
        worlds: all worlds of the part.
        paths: names of the paths.
    """
    watched = {worlds[0], worlds[len(worlds) // 2]}
    return {s: {"path_names": list(paths), **_timeline(played, s)} for s, world in enumerate(names) if world in watched}


def _timeline(played: "Played", s: int) -> dict[str, Any]:
    """Return one session in at most `BINS` bins with equal numbers of packets; the last bin may have fewer.

    Returns:
        packets_per_bin; and per bin: median and maximum event end-to-end delay in ms, rounded (-1: nothing was emitted), number of packets
        lost or discarded, path of the last packet, and number of path changes.
    """
    packets = played.path.shape[1]
    width = -(-packets // BINS)
    sent_us = np.arange(packets, dtype=np.int64) * played.packet_us
    delay_ms = (played.emitted_us[s] - sent_us) / 1000.0
    emitted = (played.emitted_us[s] >= 0) & ~played.flushed[s]
    changed = np.diff(played.path[s], prepend=played.path[s, :1]) != 0
    bins = [slice(first, min(first + width, packets)) for first in range(0, packets, width)]
    delays_ms = [delay_ms[inside][emitted[inside]] for inside in bins]
    return {
        "packets_per_bin": width,
        "delay_median_ms": [round(float(np.median(delays))) if len(delays) else -1 for delays in delays_ms],
        "delay_most_ms": [round(float(delays.max())) if len(delays) else -1 for delays in delays_ms],
        "missing": [int((~emitted[inside] & ~played.flushed[s, inside]).sum()) for inside in bins],
        "path": [int(played.path[s, inside][-1]) for inside in bins],
        "path_changes": [int(changed[inside].sum()) for inside in bins],
    }


_DELAY = "mouth_to_ear_mean_ms"
WHOLE_R = Column("r_g107", "R G.107", "", 2, 1, "R with the whole delay impairment of ITU-T G.107.", centre="iqm")


def share_beyond_range(columns: Columns, rows: pa.Table) -> float:
    """Return the share of rows whose mean mouth-to-ear delay is above `REDUCED_RANGE_MS`; 0 for other suites than of calls over paths."""
    return float((rows[_DELAY].to_numpy() > REDUCED_RANGE_MS).mean()) if _DELAY in columns.metric else 0.0


def long_columns(columns: Columns) -> Columns:
    """Return the columns of a board with the second R: next to MOS in the first text table, and under Quality on the page."""
    groups = tuple((heading, (WHOLE_R.name, *names) if heading == "Quality" else names) for heading, names in columns.groups)
    return columns._replace(
        metrics=(*columns.metrics, WHOLE_R), headline=((WHOLE_R.label, (WHOLE_R.name,)), *columns.headline), groups=groups
    )


def with_whole(rows: pa.Table) -> pa.Table:
    """Return the rows with the column `WHOLE_R`."""
    values = rating_whole(rows[_DELAY].to_numpy(), rows["concealed_share"].to_numpy())
    return rows.append_column(WHOLE_R.name, pa.array(values))
