"""Start of a sender's call, as described by its world."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import RateLimits
from vcgym.baselines.rule import init, pacing, reads_marks, window_bytes
from vcgym.envs.call.features.sender.state import clear_stats
from vcgym.envs.call.sender.capturing import skip_pauses
from vcgym.envs.call.sender.in_flight import NO_QUEUE
from vcgym.network.bottleneck.airtime import medium_bytes
from vcgym.network.bottleneck.send_queue import KINDS, clear_send_queue
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Series, describe_video, start_source
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel

MEAN_BYTES = 519  # mean packet size before the first packet: the mean of the seed paper on SBPN, section 4.1


def begin_sender(senders: NDArray[np.void], row: int, link: SharedLink, pacing: float, series: dict[int, int]) -> None:
    """Initialise one row from its world and start its call.

    Args:
        senders: (rows,) of SENDER.
        row: row.
        link: world of the row.
        pacing: see `SendingBatch`.
        series: index of each series of frame sizes, by the id of the series.
    """
    sender = senders[row]
    sender["target_bps"], sender["min_bps"], sender["max_bps"] = (1000.0 * rate for rate in link.rates_kbps)
    for name in ("forward", "backward", "expiry"):
        sender[f"{name}_us"] = round(getattr(link, f"{name}_ms") * 1000)
    sender["loss"], sender["report_loss"], sender["default_pacing"] = link.loss, link.report_loss, pacing
    sender["priority"], sender["second"] = link.priority, NO_QUEUE
    sender["air_factor"], sender["access_bytes"] = (1.0, 0.0) if link.air is None else medium_bytes(link.air, link.station_mbps)
    sender["ends_us"] = sender["until_us"] = round(link.seconds * 1e6)
    sender["counts_from_us"] = round(link.counts_from_s * 1e6)
    sender["default_report_every_us"] = sender["report_us"] = round(link.report_every_ms * 1000)
    audio = link.audio
    sender["audio_every_us"] = 0 if audio is None else round(audio.interval_ms * 1000)
    sender["audio_bytes"] = 0 if audio is None else audio.size_bytes
    sender["has_video"] = link.video is not None
    if link.video is not None:
        sender["source"] = describe_video(link.video)
        if isinstance(link.video, Series):
            sender["source"]["first"] = series[id(link.video)]
    sender["mean_bytes"] = sender["audio_bytes"] if link.video is None else min(link.video.packet_bytes, MEAN_BYTES)
    sender["reverse"], sender["pauses"] = NO_QUEUE, len(link.pauses_s)
    for i, pause_s in enumerate(link.pauses_s):
        sender["pauses_us"][i] = [round(at_s * 1e6) for at_s in pause_s]
    _restart(senders, row, np.uint64(link.seed))
    _start_queue(senders, row, link.send_queue)


def begin_rule(senders: NDArray[np.void], row: int, rate: Any, state: Any, history: NDArray[np.float64]) -> None:
    """Start the rate rule of a started row; write start, minimum and maximum of one of its `priority` calls into history (rows, 1, 3)."""
    sender = senders[row]
    history[row, 0] = [sender["target_bps"] / sender["priority"], sender["min_bps"] / sender["priority"], sender["max_bps"]]
    sender["ecn"] = reads_marks(rate, state, row)
    init_rule(rate, state, row, history, rule_key(senders, row))
    sender["pacing"], sender["window_bytes"] = pacing(rate, state, row, sender["default_pacing"]), window_bytes(rate, state, row)


def rule_key(senders: NDArray[np.void], row: int) -> np.uint64:
    """Return the random key of the rate's controller, independent of the world's keys."""
    return np.uint64(rng.stream_key(senders["seed"][row], 2, rng.POLICY))


@kernel
def _restart(senders, s, seed):
    sender = senders[s]
    sender.seed = seed
    sender.now_us = sender.phase = sender.reports = sender.made = sender.audio_number = sender.frame = 0
    sender.chance_us = sender.packets = sender.reported = sender.passed = 0
    sender.sent_bytes = sender.reported_bytes = sender.captured_bytes = sender.frame_bytes = 0
    sender.rtt_us = 0.0
    clear_stats(sender.stats)
    skip_pauses(sender)
    start_source(sender.source, sender.target_bps)
    for kind in range(KINDS):
        counts = sender.counts[kind]
        counts.created = counts.rejected = counts.discarded = counts.sent = counts.delivered = counts.on_time = counts.lost = 0
        counts.bytes_delivered = counts.delay_us = 0


@kernel
def _start_queue(senders, s, limit):
    clear_send_queue(senders[s].queue, limit)


@allocating_kernel
def init_rule(rule, state, s, history, key):
    """Start one row of a rule for rate or order.

    Args:
        rule: parameters of the rule.
        state: its state; row `s` is overwritten.
        s: int64, row.
        history: float64 (rows, 1, 3), start, minimum and maximum of the target, bit/s.
        key: uint64, key of the rule's random draws.
    """
    init(rule, state, s, RateLimits(history[s, 0, 0], history[s, 0, 1], history[s, 0, 2]), key)
