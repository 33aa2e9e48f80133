"""State of a sender: its counters, its log, and the arrays that it shares with the bottleneck; and its start, as its world describes it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import RateLimits
from vcgym.baselines.rule import init, pacing, reads_marks, window_bytes
from vcgym.envs.call.features.sender.state import FEEDBACK_STATS, clear_stats
from vcgym.envs.call.sender.in_flight import NO_QUEUE, Departures, Flight, NoOtherCalls
from vcgym.network.bottleneck.airtime import medium_bytes
from vcgym.network.bottleneck.cross_traffic import Dumbbell
from vcgym.network.bottleneck.other_call import MAX_PAUSES
from vcgym.network.bottleneck.send_queue import KINDS, SEND_QUEUE, clear_send_queue
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import VIDEO_SOURCE, Series, describe_video, start_source
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel

MEAN_BYTES = 519  # mean packet size before the first packet: the mean of the seed paper on SBPN, section 4.1
REPORTS = 64  # maximum in flight through a queue; a power of two

COUNTS = np.dtype(
    [
        ("created", "i8"),
        ("rejected", "i8"),  # by a full queue, or evicted for another packet
        ("discarded", "i8"),  # by the scheduler
        ("sent", "i8"),
        ("delivered", "i8"),
        ("on_time", "i8"),
        ("lost", "i8"),
        ("bytes_delivered", "i8"),
        ("delay_us", "i8"),  # sum over delivered packets, capture to arrival
    ]
)

SENDER = np.dtype(
    (
        np.record,
        [
            ("seed", "u8"),
            ("bottleneck", "i8"),
            ("flow", "i8"),  # flow number at the bottleneck, 0: the first call
            ("begins_us", "i8"),  # start of the call in time of the bottleneck
            ("now_us", "i8"),
            ("ends_us", "i8"),
            ("until_us", "i8"),  # limit of the loop; without paths the end
            ("counts_from_us", "i8"),  # packets captured before are not counted
            ("phase", "i8"),
            ("forward_us", "i8"),  # delay from the bottleneck to the receiver
            ("backward_us", "i8"),
            ("ecn", "i8"),  # 1: its packets are ECN-capable
            ("loss", "f8"),
            ("report_loss", "f8"),
            ("default_report_every_us", "i8"),  # report interval, unless the rule sets another
            ("report_us", "i8"),  # time of the receiver's next report
            ("reports", "i8"),  # reports that have arrived or been lost
            ("reverse", "i8"),  # bottleneck of the reports, or NO_QUEUE
            ("second", "i8"),  # bottleneck of the packets behind the first, or NO_QUEUE
            ("hop_us", "i8"),  # delay from the first to the second
            ("passed", "i8"),  # packets that reached the second, or were dropped before it
            ("priority", "f8"),
            ("air_factor", "f8"),  # bytes of a shared medium for each byte of a packet
            ("access_bytes", "f8"),  # bytes of a shared medium for each packet
            ("made", "i8"),  # reports that have entered the reverse bottleneck
            ("made_us", "i8", (REPORTS,)),
            ("back_us", "i8", (REPORTS,)),
            ("expiry_us", "i8"),
            ("pauses", "i8"),
            ("pauses_us", "i8", (MAX_PAUSES, 2)),
            ("audio_every_us", "i8"),  # 0: no audio
            ("audio_bytes", "i8"),
            ("audio_number", "i8"),
            ("has_video", "i8"),
            ("frame", "i8"),
            ("chance_us", "i8"),  # the next transmission opportunity
            ("default_pacing", "f8"),  # pacing factor; 0: spaced by the mean packet size at the target
            ("pacing", "f8"),  # current pacing factor of the rate rule
            ("window_bytes", "i8"),  # limit on unreported bytes
            ("sent_bytes", "i8"),
            ("reported_bytes", "i8"),  # sent bytes that were reported
            ("captured_bytes", "i8"),
            ("frame_bytes", "i8"),  # size of the newest frame
            ("target_bps", "f8"),
            ("min_bps", "f8"),
            ("max_bps", "f8"),
            ("mean_bytes", "f8"),
            ("rtt_us", "f8"),  # smoothed; 0: no report yet
            ("packets", "i8"),  # sent so far
            ("reported", "i8"),  # sent packets that were reported
            ("answer_bps", "f8"),  # 0: the target is unchanged
            ("answer_order", "i8"),
            ("source", VIDEO_SOURCE),
            ("queue", SEND_QUEUE),
            ("stats", FEEDBACK_STATS),
            ("counts", COUNTS, (KINDS,)),
        ],
    )
)

LOGGED = np.dtype(
    (np.record, [("created_us", "i8"), ("sent_us", "i8"), ("arrived_us", "i8"), ("size_bytes", "i4"), ("kind", "i4")])
)  # fmt: skip


class SenderTables(NamedTuple):
    """Bottlenecks, and arrays whose size depends on the batch; first axis: session."""

    dumbbell: Dumbbell
    flight: Flight
    departures: Departures
    series: np.ndarray  # frame sizes of all series
    log: np.ndarray  # (sessions, packets) of LOGGED, or (sessions, 0)
    targets: np.ndarray  # (sessions, seconds), mean target of each second of the call, bit/s
    others: Any = NoOtherCalls()  # other calls at the bottleneck


@kernel
def counted(sender, created_us):
    """Return 1 for a packet that the totals count, else 0."""
    return 1 if created_us >= sender.counts_from_us else 0


@kernel
def on_medium(sender, size_bytes):
    """Return the bytes that a packet takes of the bottleneck, or of a shared medium."""
    return np.int64(size_bytes * sender.air_factor + sender.access_bytes + 0.5)


@kernel
def of_one(sender, size_bytes):
    """Return the bytes of one of the `priority` equal calls."""
    return np.int64(size_bytes / sender.priority)


@kernel
def skip_pauses(sender):
    """Skip captures within a pause."""
    for i in range(sender.pauses):
        begins_us, ends_us = sender.pauses_us[i, 0], sender.pauses_us[i, 1]
        if sender.audio_every_us > 0 and begins_us <= sender.audio_number * sender.audio_every_us < ends_us:
            sender.audio_number = -(-ends_us // sender.audio_every_us)
        if sender.has_video and begins_us <= sender.frame * sender.source.frame_us < ends_us:
            sender.frame = -(-ends_us // sender.source.frame_us)


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
    """Start row `s` of a rule for rate or order; `history`, float64 (rows, 1, 3): start, minimum and maximum of the target, bit/s."""
    init(rule, state, s, RateLimits(history[s, 0, 0], history[s, 0, 1], history[s, 0, 2]), key)
