"""Result rows of finished calls over a bottleneck, from their packets and totals."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.results.cdf import DelayCdf, count_within
from vcgym.leaderboard.results.kinds import RATE
from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.playout.quality import rating

if TYPE_CHECKING:
    from vcgym.envs.call.sender.batch import SendingTotals

ACCOUNTING = "arrival"


def metrics(
    link: SharedLink, log: NDArray[np.void], totals: "SendingTotals", row: int, targets_bps: NDArray[np.float64]
) -> dict[str, float]:  # fmt: skip
    """Return the metrics of one call; packets captured before `counts_from_s` do not count.

    Args:
        link: world of the call.
        log: packets of the call, dtype `vcgym.envs.call.sender.loop.LOGGED`.
        totals: totals of the batch.
        row: row of the call in the batch.
        targets_bps: (seconds,) mean target of each second of the call, used without other flows only.
    """
    from_us, to_us = round(link.counts_from_s * 1e6), round(link.seconds * 1e6)
    sent = log[log["created_us"] >= from_us]
    arrived = sent[sent["arrived_us"] >= 0]
    delay_ms = (arrived["arrived_us"] - arrived["created_us"]) / 1000.0
    transit_ms = (arrived["arrived_us"] - arrived["sent_us"]) / 1000.0
    captured = totals.created[row]
    on_time = totals.on_time[row] / np.maximum(captured, 1)
    received = totals.delivered[row] / np.maximum(captured, 1)
    bps = 8.0 * float(arrived["size_bytes"].sum()) / (to_us - from_us) * 1e6
    found = {
        "audio_on_time": on_time[AUDIO],
        "video_on_time": on_time[VIDEO],
        "audio_late": received[AUDIO] - on_time[AUDIO],
        "video_late": received[VIDEO] - on_time[VIDEO],
        "r": rating(link.expiry_ms, 1.0 - on_time[AUDIO]),
        "utility": utility(link, log, totals, row),
        "throughput_kbps": bps / 1000.0,
        "utilisation": bps / capacity_bps(link),
        "delay_p50_ms": _percentile(delay_ms, 50),
        "delay_p95_ms": _percentile(delay_ms, 95),
        "transit_p50_ms": _percentile(transit_ms, 50),
        "transit_p95_ms": _percentile(transit_ms, 95),
        "queueing_ms": _mean(transit_ms) - link.forward_ms,
        "waiting_ms": _mean((sent["sent_us"] - sent["created_us"]) / 1000.0),
        "lost": totals.lost[row].sum() / max(int(totals.sent[row].sum()), 1),
        "unsent": (totals.rejected[row] + totals.discarded[row]).sum() / max(int(captured.sum()), 1),
        **_estimate(link, targets_bps),
    }
    return {column.name: float(found[column.name]) for column in RATE.metrics}


def utility(link: SharedLink, log: NDArray[np.void], totals: "SendingTotals", row: int) -> float:
    """Return the utility per second of one call (R3Net, arXiv 1912.02222); for the arguments see `metrics`."""
    from_us, to_us = round(link.counts_from_s * 1e6), round(link.seconds * 1e6)
    arrived = log[(log["created_us"] >= from_us) & (log["arrived_us"] >= 0)]
    delay_ms = (arrived["arrived_us"] - arrived["created_us"]) / 1000.0
    missing = 1.0 - totals.delivered[row].sum() / max(int(totals.created[row].sum()), 1)
    return _rate_utility(arrived, from_us, to_us) - _mean(delay_ms - link.forward_ms) / 1000.0 - 10.0 * float(missing)


def delay_cdf(link: SharedLink, log: NDArray[np.void]) -> Mapping[str, DelayCdf]:
    """Return the distribution of the time from capture to arrival over the sent packets that count."""
    sent = log[log["created_us"] >= round(link.counts_from_s * 1e6)]
    arrived = sent[sent["arrived_us"] >= 0]
    return {ACCOUNTING: count_within(arrived["arrived_us"] - arrived["created_us"], len(sent))}


def capacity_bps(link: SharedLink) -> float:
    """Return the mean capacity of the bottleneck over the measured interval."""
    return mean_bps(link.trace, link.start_us + round(link.counts_from_s * 1e6), link.start_us + round(link.seconds * 1e6))


def _estimate(link: SharedLink, targets_bps: NDArray[np.float64]) -> dict[str, float]:
    """Compare the target with the capacity as the Bandwidth Estimation Challenge does (ACM MMSys 2024, arXiv 2403.06324).

    There, the estimate every 60 ms is compared with the true capacity; here, means of whole seconds, limited to the range of the call's
    targets. Returns NaN with other flows, whose share is not the call's capacity.
    """
    if link.flows:
        return {"capacity_error": math.nan, "overestimate": math.nan}
    _, min_bps, max_bps = (1000.0 * kbps for kbps in link.rates_kbps)
    seconds = range(math.ceil(link.counts_from_s), int(link.seconds))
    instants_us = [(link.start_us + second * 1_000_000, link.start_us + (second + 1) * 1_000_000) for second in seconds]
    capacity = np.clip([mean_bps(link.trace, *ends) for ends in instants_us], min_bps, max_bps)
    excess = targets_bps[list(seconds)] / capacity - 1.0
    return {"capacity_error": _mean(excess**2), "overestimate": _mean(np.maximum(excess, 0.0))}


def _rate_utility(arrived: NDArray[np.void], from_us: int, to_us: int) -> float:
    """Return the mean over seconds of 0.6 ln(4 r + 1), with r the Mbit/s that arrived in the second (R3Net, arXiv 1912.02222)."""
    seconds = np.arange(from_us, to_us, 1_000_000)
    mbit, _ = np.histogram(arrived["arrived_us"], np.append(seconds, to_us), weights=arrived["size_bytes"] * 8e-6)
    duration_s = np.diff(np.append(seconds, to_us)) * 1e-6
    return float(np.average(0.6 * np.log(4.0 * mbit / duration_s + 1.0), weights=duration_s))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _percentile(values: NDArray[np.float64], which: float) -> float:
    return float(np.percentile(values, which)) if len(values) else 0.0
