"""Another call in the queue of a call: a flow with its own sources, send queue, rules of rate and order, pacer and reports.

Here is what it is; it is played by the loop that plays every call (vcgym.envs.call.sender.other_calls). Its rules go by name, for all
calls beside
the first are of one class, so that one loop plays them.
"""

import math
from itertools import pairwise
from typing import NamedTuple

from vcgym.network.bottleneck.sources import Audio, Encoder, Series, Timeline, describe_video
from vcgym.network.kernels.ranges import one_of, require_within

FIXED, GCC_WEBRTC, GCC_DRAFT, TFRC, NADA, SCREAM_V1, SCREAM_V2 = 0, 1, 2, 3, 4, 5, 6
SAME = "same"
RATES = {
    "fixed": FIXED, "gcc_webrtc": GCC_WEBRTC, "gcc_draft": GCC_DRAFT, "tfrc": TFRC, "nada": NADA, "scream_v1": SCREAM_V1,
    "scream_v2": SCREAM_V2,
}  # fmt: skip
FIFO, SBPN2 = 0, 1
MAX_PAUSES = 2
ORDERS = {"fifo": FIFO, "sbpn2": SBPN2}


class OtherCall(NamedTuple):
    """A call from `starts_s` to `stops_s`; what is not said here is as in the call it meets (expiry, send queue, reports).

    Attributes:
        rate: a key of RATES; fixed: the start rate, always. SAME: rate, order and pacing are those of the call it meets.
        order: a key of ORDERS.
        pacing: transmission opportunities per packet time at the target; 0: by packets of mean size; inf: what is captured leaves at once.
        audio: None: none.
        video: None: none.
        rates_kbps: start, least and largest target.
        forward_ms: from the bottleneck to its receiver, without queueing.
        backward_ms: of a report.
        starts_s: in time of the call it meets.
        stops_s: the same.
        loss: share of packets lost at random before the queue.
        pauses_s: when nothing is captured, in time of the call it meets.
        backwards: it passes the bottleneck of the way back, and its reports that of the way ahead.
    """

    rate: str = "gcc_webrtc"
    order: str = "fifo"
    pacing: float = 2.5
    audio: Audio | None = Audio()
    video: Timeline | Series | Encoder | None = Encoder()
    rates_kbps: tuple[float, float, float] = (300.0, 50.0, 4000.0)
    forward_ms: float = 25.0
    backward_ms: float = 25.0
    starts_s: float = 0.0
    stops_s: float = math.inf
    loss: float = 0.0
    pauses_s: tuple[tuple[float, float], ...] = ()
    backwards: bool = False


def require_other_call(call: OtherCall) -> None:
    """Refuse a call that cannot be played.

    Raises:
        ValueError: an unknown rule, a number out of its range, a call with nothing to send.
    """
    one_of("OtherCall.rate", call.rate, (*RATES, SAME))
    one_of("OtherCall.order", call.order, tuple(ORDERS))
    require_within(
        call, pacing=(0.0, math.inf), forward_ms=(0.0, 60e3), backward_ms=(0.0, 60e3), starts_s=(0.0, 1e9),
        stops_s=(call.starts_s, math.inf), loss=(0.0, 0.999),
    )  # fmt: skip
    require_rates(call.rates_kbps, "OtherCall")
    require_pauses(call.pauses_s, "OtherCall")
    require_something(call.audio, call.video, "OtherCall")


def require_rates(rates_kbps: tuple[float, float, float], whose: str) -> None:
    """Refuse rates out of order or range.

    Raises:
        ValueError: naming them.
    """
    start, lowest, highest = rates_kbps
    if not 1.0 <= lowest <= start <= highest <= 1e6:
        raise ValueError(f"rates_kbps = {rates_kbps} of {whose}: allowed is 1 <= least <= start <= largest <= 1e6")


def require_pauses(pauses_s: tuple[tuple[float, float], ...], whose: str) -> None:
    """Refuse pauses that are too many, out of order or overlap.

    Raises:
        ValueError: naming them.
    """
    instants = [0.0, *(at_s for pause in pauses_s for at_s in pause)]
    if len(pauses_s) > MAX_PAUSES or not all(a < b or (a == b and i % 2 == 0) for i, (a, b) in enumerate(pairwise(instants))):
        raise ValueError(f"pauses_s = {pauses_s} of {whose}: allowed are up to {MAX_PAUSES} intervals of s from 0 on that do not overlap")


def require_something(audio: Audio | None, video: Timeline | Series | Encoder | None, whose: str) -> None:
    """Refuse sources of which none is there or one cannot be.

    Raises:
        ValueError: naming what is wrong.
    """
    if audio is None and video is None:
        raise ValueError(f"audio and video of {whose} are None: allowed is a call with something to send")
    if audio is not None:
        require_within(audio, size_bytes=(1, 65535), interval_ms=(0.1, 1e4))
    if video is not None:
        describe_video(video)
