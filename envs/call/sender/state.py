"""State of a sender: its counters, its log, and the arrays that it shares with the bottleneck; and its start, as its world describes it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import RateLimits
from vcgym.baselines.rule import init, pacing, reads_marks, window_bytes
from vcgym.envs.call.features.sender import FeedbackStats
from vcgym.envs.call.sender.in_flight import NO_QUEUE, Departures, Flight, NoOtherCalls
from vcgym.network.bottleneck.cross_traffic import Dumbbell
from vcgym.network.bottleneck.other_call import MAX_PAUSES
from vcgym.network.bottleneck.send_queue import KINDS, SendQueue
from vcgym.network.bottleneck.shared_link import SharedLink, medium_bytes
from vcgym.network.bottleneck.sources import Series, VideoSource, describe_video, start_source
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import record, records

MEAN_BYTES = 519  # mean packet size before the first packet: the mean of the seed paper on SBPN, section 4.1
REPORTS = 64  # maximum in flight through a queue; a power of two


@record
class PacketCounts:
    """Packets of one kind of media."""

    created: int = 0
    rejected: int = 0  # by a full queue, or evicted for another packet
    discarded: int = 0  # by the scheduler
    sent: int = 0
    delivered: int = 0
    on_time: int = 0
    lost: int = 0
    bytes_delivered: int = 0
    bytes_on_time: int = 0
    delay_us: int = 0  # sum over delivered packets, capture to arrival


@record
class SenderState:
    """State of a sender, which begins with what its world describes."""

    seed: np.uint64 = np.uint64(0)
    bottleneck: int = 0
    flow: int = 0  # flow number at the bottleneck, 0: the first call
    begins_us: int = 0  # start of the call in time of the bottleneck
    now_us: int = 0
    ends_us: int = 0
    until_us: int = 0  # limit of the loop; without paths the end
    counts_from_us: int = 0  # packets captured before are not counted
    phase: int = 0
    forward_us: int = 0  # delay from the bottleneck to the receiver
    backward_us: int = 0
    ecn: int = 0  # 1: its packets are ECN-capable
    loss: float = 0.0
    report_loss: float = 0.0
    default_report_every_us: int = 0  # report interval, unless the rule sets another
    report_us: int = 0  # time of the receiver's next report
    reports: int = 0  # reports that have arrived or been lost
    reverse: int = NO_QUEUE  # bottleneck of the reports, or NO_QUEUE
    second: int = NO_QUEUE  # bottleneck of the packets behind the first, or NO_QUEUE
    hop_us: int = 0  # delay from the first to the second
    passed: int = 0  # packets that reached the second, or were dropped before it
    priority: float = 1.0
    air_factor: float = 1.0  # bytes of a shared medium for each byte of a packet
    access_bytes: float = 0.0  # bytes of a shared medium for each packet
    made: int = 0  # reports that have entered the reverse bottleneck
    made_us: NDArray[np.int64] = np.zeros(REPORTS, np.int64)
    back_us: NDArray[np.int64] = np.zeros(REPORTS, np.int64)
    expiry_us: int = 0
    pauses: int = 0
    pauses_us: NDArray[np.int64] = np.zeros((MAX_PAUSES, 2), np.int64)
    audio_every_us: int = 0  # 0: no audio
    audio_bytes: int = 0
    audio_number: int = 0
    has_video: int = 0
    frame: int = 0
    chance_us: int = 0  # the next transmission opportunity
    default_pacing: float = 0.0  # pacing factor; 0: spaced by the mean packet size at the target
    pacing: float = 0.0  # current pacing factor of the rate rule
    window_bytes: int = 0  # limit on unreported bytes
    sent_bytes: int = 0
    reported_bytes: int = 0  # sent bytes that were reported
    captured_bytes: int = 0
    frame_bytes: int = 0  # size of the newest frame
    target_bps: float = 0.0
    min_bps: float = 0.0
    max_bps: float = 0.0
    mean_bytes: float = 0.0
    rtt_us: float = 0.0  # smoothed; 0: no report yet
    packets: int = 0  # sent so far
    reported: int = 0  # sent packets that were reported
    answer_bps: float = 0.0  # 0: the target is unchanged
    answer_order: int = 0
    source: VideoSource
    queue: SendQueue
    stats: FeedbackStats
    counts: NDArray[np.void] = records(PacketCounts, KINDS)


_NEW_SENDER = records(SenderState, 1)

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
    """Initialise one row from its world and start its call; `pacing` and `series` as in `SendingBatch` and its `series`."""
    senders[row] = _NEW_SENDER[0]
    sender = senders[row]
    sender["seed"] = link.seed
    sender["target_bps"], sender["min_bps"], sender["max_bps"] = (1000.0 * rate for rate in link.rates_kbps)
    for name in ("forward", "backward", "expiry"):
        sender[f"{name}_us"] = round(getattr(link, f"{name}_ms") * 1000)
    sender["loss"], sender["report_loss"], sender["default_pacing"] = link.loss, link.report_loss, pacing
    sender["priority"] = link.priority
    if link.air is not None:
        sender["air_factor"], sender["access_bytes"] = medium_bytes(link.air, link.station_mbps)
    sender["ends_us"] = sender["until_us"] = round(link.seconds * 1e6)
    sender["counts_from_us"] = round(link.counts_from_s * 1e6)
    sender["default_report_every_us"] = sender["report_us"] = round(link.report_every_ms * 1000)
    if link.audio is not None:
        sender["audio_every_us"], sender["audio_bytes"] = round(link.audio.interval_ms * 1000), link.audio.size_bytes
    if link.video is not None:
        sender["has_video"], sender["source"] = True, describe_video(link.video)
        if isinstance(link.video, Series):
            sender["source"]["first"] = series[id(link.video)]
        start_source(sender["source"], sender["target_bps"])
    sender["mean_bytes"] = sender["audio_bytes"] if link.video is None else min(link.video.packet_bytes, MEAN_BYTES)
    sender["pauses"] = len(link.pauses_s)
    for i, pause_s in enumerate(link.pauses_s):
        sender["pauses_us"][i] = [round(at_s * 1e6) for at_s in pause_s]
    sender["queue"]["limit"] = link.send_queue
    _skip_first_pauses(senders, row)


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
def _skip_first_pauses(senders, s):
    skip_pauses(senders[s])


@allocating_kernel
def init_rule(rule, state, s, history, key):
    """Start row `s` of a rule for rate or order; `history`, float64 (rows, 1, 3): start, minimum and maximum of the target, bit/s."""
    init(rule, state, s, RateLimits(history[s, 0, 0], history[s, 0, 1], history[s, 0, 2]), key)
