"""Result rows of finished calls over a bottleneck, from their packets and totals.

Of the test cases of RFC 8867 with the metrics of RFC 8868: means over the media flows of a case, and joint metrics.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.results.cdf import DelayCdf, count_within
from vcgym.leaderboard.results.kinds import RATE
from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sharing import jain
from vcgym.network.playout.quality import rating

if TYPE_CHECKING:
    from vcgym.envs.call.sender.batch import PlayedFlow, SendingTotals

ACCOUNTING = "arrival"
_SETTLED = 0.2  # maximum deviation of a settled rate, relative to its level
_WINDOW_S = 5
_MIN_STRETCH_S = 2 * _WINDOW_S  # minimum time between changes to be evaluated


def metrics(
    link: SharedLink, log: NDArray[np.void], totals: "SendingTotals", row: int, targets_bps: NDArray[np.float64]
) -> dict[str, float]:  # fmt: skip
    """Return the metrics of one call; packets captured before `counts_from_s` do not count.

    Args:
        link: world of the call.
        log: packets of the call, dtype `vcgym.envs.call.sender.state.LOGGED`.
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


def timely_utility(link: SharedLink, log: NDArray[np.void], totals: "SendingTotals", row: int) -> float:
    """Return the utility per second of the packets on time of one call; for the arguments see `metrics`.

    That of `vcgym.envs.call.rewards.on_time.Timely`, with the rate by whole seconds and the share of audio that is not on time by calls.
    """
    from_us, to_us = round(link.counts_from_s * 1e6), round(link.seconds * 1e6)
    on_time = (log["arrived_us"] >= 0) & (log["arrived_us"] - log["created_us"] <= 1000.0 * link.expiry_ms)
    missed = 1.0 - totals.on_time[row, AUDIO] / max(int(totals.created[row, AUDIO]), 1)
    return _rate_utility(log[on_time & (log["created_us"] >= from_us)], from_us, to_us) - 10.0 * float(missed)


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


def case_metrics(link: SharedLink, flows: Sequence["PlayedFlow"]) -> dict[str, float]:
    """Return the metrics of one case.

    Args:
        link: world of the case.
        flows: media flows of the case, the measured one first.
    """
    each = [metrics(flow.link, flow.log, flow.totals, flow.row, flow.targets_bps) for flow in flows]
    found = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return found | {
        "utilisation": _utilisation(link, flows),
        "delay_p99_ms": float(np.mean([_p99_ms(flow) for flow in flows])),
        "jain": _fairness(link, flows),
        "settling_s": _settling_s(link, flows),
    }


def case_delays(flows: Sequence["PlayedFlow"]) -> Mapping[str, DelayCdf]:
    """Return the distribution of the delay over the packets of all media flows."""
    return {ACCOUNTING: DelayCdf.of_all(delay_cdf(flow.link, flow.log)[ACCOUNTING] for flow in flows)}


def _utilisation(link: SharedLink, flows: Sequence["PlayedFlow"]) -> float:
    """Return the delivered share of the capacity of all bottlenecks, all flows; a flow that passes two counts for both."""
    from_us, to_us = round(link.counts_from_s * 1e6), round(link.seconds * 1e6)
    passing = [*flows, flows[0]] if link.second is not None else flows
    bits = 8.0 * sum(int(_arrived(flow)["size_bytes"].sum()) for flow in passing)
    bps = capacity_bps(link) + sum(mean_bps(which.trace, from_us, to_us) for which in (link.reverse, link.second) if which is not None)
    return bits / (bps * (to_us - from_us) * 1e-6)


def _p99_ms(flow: "PlayedFlow") -> float:
    arrived = _arrived(flow)
    return float(np.percentile((arrived["arrived_us"] - arrived["created_us"]) / 1000.0, 99)) if len(arrived) else 0.0


def _arrived(flow: "PlayedFlow") -> NDArray[np.void]:
    log = flow.log[flow.log["created_us"] >= round(flow.link.counts_from_s * 1e6)]
    arrived: NDArray[np.void] = log[log["arrived_us"] >= 0]
    return arrived


def _fairness(link: SharedLink, flows: Sequence["PlayedFlow"]) -> float:
    """Return Jain's index of the forward flows' rates over their priorities, in the second half of the time when all are active."""
    ahead = [flow for flow in flows if not flow.backwards]
    from_s = max(flow.starts_s for flow in ahead)
    to_s = min(flow.starts_s + flow.link.seconds for flow in ahead)
    half_s = (from_s + to_s) / 2.0
    rates = [_rates_bps(flow, to_s)[round(half_s) :].sum() for flow in ahead]
    return float(jain(np.array(rates) / [flow.link.priority for flow in ahead])) if any(rates) else 1.0


def _rates_bps(flow: "PlayedFlow", seconds: float) -> NDArray[np.float64]:
    """Return the delivered rate in each second of the case."""
    arrived = flow.log[flow.log["arrived_us"] >= 0]
    seconds_of = arrived["arrived_us"] / 1e6 + flow.starts_s
    bits, _ = np.histogram(seconds_of, np.arange(0.0, int(seconds) + 1.0), weights=8.0 * arrived["size_bytes"])
    return bits


def _settling_s(link: SharedLink, flows: Sequence["PlayedFlow"]) -> float:
    """Return the mean settling time of the media rate after a change: until 5 s of it are within 20 % of its later half."""
    bps = np.sum([_rates_bps(flow, link.seconds) for flow in flows], axis=0)
    took_s = []
    for begins_s, ends_s in pairwise([*sorted(set(_changes_s(link))), int(link.seconds)]):
        stretch = bps[begins_s:ends_s]
        level = stretch[len(stretch) // 2 :].mean() if len(stretch) >= _MIN_STRETCH_S else 0.0
        if level > 0.0:
            windows = np.convolve(stretch, np.ones(_WINDOW_S) / _WINDOW_S, "valid")
            settled = np.abs(windows / level - 1.0) <= _SETTLED
            took_s.append(int(np.argmax(settled)) if settled.any() else len(stretch))
    return float(np.mean(took_s)) if took_s else 0.0


def _changes_s(link: SharedLink) -> Iterator[int]:
    """Yield each whole second in which the capacity, the media flows or competing long flows change."""
    instants = [link.counts_from_s, *(link.trace.times_us / 1e6)]
    for which in (link.reverse, link.second):
        if which is not None:
            instants += [*(which.trace.times_us / 1e6)]
    for flow in link.flows:
        if not (isinstance(flow, Tcp) and flow.file_bytes):
            instants += [flow.starts_s, flow.stops_s]
        if isinstance(flow, OtherCall):
            instants += [at_s for pause in flow.pauses_s for at_s in pause]
    return (int(at_s) for at_s in instants if link.counts_from_s <= at_s < int(link.seconds))
