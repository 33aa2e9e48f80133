"""Play a sender on given worlds, and make a row of each call from its packets. Same worlds, same seeds: paired."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rate_rule import is_rate_oracle
from vcgym.envs.call.sender.batch import SendingBatch, SendingTotals
from vcgym.leaderboard.sending.columns import METRICS
from vcgym.network.bottleneck.capacity import CapacityTrace, mean_bps
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.playout.quality import rating

MOST_PACKETS = 1 << 17  # of a call that are kept


class Sender(NamedTuple):
    """A line of the board: who holds the rate, who the order, and how fast chances to send come (`SendingBatch`, `pacing`)."""

    rate: Any
    order: Any
    pacing: float

    @property
    def is_oracle(self) -> bool:
        """Whether it is told what no sender knows; never ranked."""
        return is_rate_oracle(self.rate)


def play_sender(sender: Sender, links: Sequence[SharedLink], traces: Sequence[CapacityTrace], flows: int) -> list[dict[str, float]]:
    """The metrics of each call.

    Raises:
        OverflowError: a call sends more packets than are kept.
    """
    longest_s = max(link.seconds for link in links)
    batch = SendingBatch(
        len(links), sender.rate, sender.order, traces, flows, (), sender.pacing, log_packets=MOST_PACKETS, seconds=longest_s,
        calls=max(sum(isinstance(flow, OtherCall) for flow in link.flows) for link in links),
    )  # fmt: skip
    for row, link in enumerate(links):
        batch.start(row, link)
    batch.play(np.arange(len(links)))
    totals = batch.totals()
    return [metrics(link, batch.log(row), totals, row) for row, link in enumerate(links)]


def metrics(link: SharedLink, log: NDArray[np.void], totals: SendingTotals, row: int) -> dict[str, float]:
    """Metrics of one call, from its packets and its totals; what was captured before `counts_from_s` does not count."""
    if len(log) >= MOST_PACKETS:
        raise OverflowError(f"{link.name}: more than {MOST_PACKETS} packets were sent")
    from_us, to_us = round(link.counts_from_s * 1e6), round(link.seconds * 1e6)
    sent = log[log["created_us"] >= from_us]
    heard = sent[sent["arrived_us"] >= 0]
    delay_ms = (heard["arrived_us"] - heard["created_us"]) / 1000.0
    transit_ms = (heard["arrived_us"] - heard["sent_us"]) / 1000.0
    captured = totals.created[row]
    on_time = totals.on_time[row] / np.maximum(captured, 1)
    received = totals.delivered[row] / np.maximum(captured, 1)
    bps = 8.0 * float(heard["size_bytes"].sum()) / (to_us - from_us) * 1e6
    missing = 1.0 - totals.delivered[row].sum() / max(int(captured.sum()), 1)
    found = {
        "audio_on_time": on_time[AUDIO],
        "video_on_time": on_time[VIDEO],
        "audio_late": received[AUDIO] - on_time[AUDIO],
        "video_late": received[VIDEO] - on_time[VIDEO],
        "r": rating(link.expiry_ms, 1.0 - on_time[AUDIO]),
        "utility": _worth_of_rate(heard, from_us, to_us) - _mean(delay_ms - link.forward_ms) / 1000.0 - 10.0 * missing,
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
    }
    return {column.name: float(found[column.name]) for column in METRICS}


def capacity_bps(link: SharedLink) -> float:
    """What the bottleneck could carry while the call counted."""
    return mean_bps(link.trace, link.start_us + round(link.counts_from_s * 1e6), link.start_us + round(link.seconds * 1e6))


def _worth_of_rate(heard: NDArray[np.void], from_us: int, to_us: int) -> float:
    """Mean over seconds of 0.6 ln(4 r + 1), r in Mbit/s that arrived in that second (R3Net, arXiv 1912.02222)."""
    seconds = np.arange(from_us, to_us, 1_000_000)
    mbit, _ = np.histogram(heard["arrived_us"], np.append(seconds, to_us), weights=heard["size_bytes"] * 8e-6)
    lasts_s = np.diff(np.append(seconds, to_us)) * 1e-6
    return float(np.average(0.6 * np.log(4.0 * mbit / lasts_s + 1.0), weights=lasts_s))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _percentile(values: NDArray[np.float64], which: float) -> float:
    return float(np.percentile(values, which)) if len(values) else 0.0
