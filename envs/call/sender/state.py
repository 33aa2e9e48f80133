"""State of a sender: its counters, its log, and the arrays that it shares with the bottleneck."""

from typing import Any, NamedTuple

import numpy as np

from vcgym.envs.call.features.sender.state import FEEDBACK_STATS
from vcgym.envs.call.sender.cross_traffic import NoOtherCalls
from vcgym.envs.call.sender.in_flight import Departures, Flight
from vcgym.network.bottleneck.cross_traffic import Dumbbell
from vcgym.network.bottleneck.other_call import MAX_PAUSES
from vcgym.network.bottleneck.send_queue import KINDS, SEND_QUEUE
from vcgym.network.bottleneck.sources import VIDEO_SOURCE
from vcgym.network.kernels.jit import kernel

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
