"""Description of another call in the queue of a call: a flow with its own sources, send queue, rate rule, scheduler, pacer and reports.

The loop of all calls plays it (vcgym.envs.call.sender.other_calls). All calls except the first have one class, so that one loop plays them.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

from vcgym.network.bottleneck.sources import Audio, Encoder, Series, Timeline, describe_video
from vcgym.network.kernels.ranges import one_of, require_within

SAME = "same"
RATES = ("fixed", "gcc_webrtc", "gcc_draft", "tfrc", "nada", "scream_v1", "scream_v2", "nada_xmax")
MAX_PAUSES = 2
ORDERS = "fifo", "sbpn2"


class OtherCall(NamedTuple):
    """A call from `starts_s` to `stops_s`; everything else is as in the first call (expiry, send queue, reports).

    Its `rate` is one of RATES, of which fixed is the constant start rate; SAME: rate, order and pacing are those of the first call; or the
    parameters of any rate rule, learned ones included: the recipe then has this very object among its `rates`.
    """

    rate: Any = "gcc_webrtc"
    order: str = "fifo"  # one of ORDERS
    pacing: float = 2.5  # opportunities per packet time at the target; 0: spaced by the mean packet size; inf: packets leave at capture
    audio: Audio | None = Audio()
    video: Timeline | Series | Encoder | None = Encoder()
    rates_kbps: tuple[float, float, float] = (300.0, 50.0, 4000.0)  # start, minimum and maximum target
    forward_ms: float = 25.0  # delay from the bottleneck to its receiver, without queueing
    backward_ms: float = 25.0  # delay of a report
    starts_s: float = 0.0  # start, in time of the first call
    stops_s: float = math.inf  # end, in time of the first call
    loss: float = 0.0  # probability of random loss before the queue
    pauses_s: tuple[tuple[float, float], ...] = ()  # intervals without capture, in time of the first call
    backwards: bool = False  # True: it uses the reverse bottleneck, and its reports the forward one
    at_second: bool = False  # True: it passes the second bottleneck alone
    priority: float = 1.0  # it is controlled as one of `priority` equal calls, see `vcgym.envs.call.sender.events`
    station_mbps: float | None = None  # rate of its station on a shared medium; None: that of the medium


def require_other_call(call: OtherCall) -> None:
    """Raise a ValueError for neither a known name nor a rule, a number out of range, or a call without sources."""
    if isinstance(call.rate, str) or not hasattr(call.rate, "facts"):
        one_of("OtherCall.rate", call.rate, (*RATES, SAME))
    one_of("OtherCall.order", call.order, ORDERS)
    require_within(
        call, pacing=(0.0, math.inf), forward_ms=(0.0, 60e3), backward_ms=(0.0, 60e3), starts_s=(0.0, 1e9),
        stops_s=(call.starts_s, math.inf), loss=(0.0, 0.999), priority=(0.01, 100.0),
    )  # fmt: skip
    require_rates(call.rates_kbps, "OtherCall")
    require_pauses(call.pauses_s, "OtherCall")
    require_something(call.audio, call.video, "OtherCall")


def require_rates(rates_kbps: tuple[float, float, float], whose: str) -> None:
    """Raise a ValueError, which names the rates, unless 1 kbit/s <= minimum <= start <= maximum <= 1 Gbit/s."""
    start, lowest, highest = rates_kbps
    if not 1.0 <= lowest <= start <= highest <= 1e6:
        raise ValueError(f"rates_kbps = {rates_kbps} of {whose}: allowed is 1 <= minimum <= start <= maximum <= 1e6")


def require_pauses(pauses_s: tuple[tuple[float, float], ...], whose: str) -> None:
    """Raise a ValueError, which names the pauses, if they are too many, out of order or overlap."""
    instants = [0.0, *(at_s for pause in pauses_s for at_s in pause)]
    if len(pauses_s) > MAX_PAUSES or not all(a < b or (a == b and i % 2 == 0) for i, (a, b) in enumerate(pairwise(instants))):
        raise ValueError(f"pauses_s = {pauses_s} of {whose}: allowed are up to {MAX_PAUSES} intervals of s from 0 on that do not overlap")


def require_something(audio: Audio | None, video: Timeline | Series | Encoder | None, whose: str) -> None:
    """Raise a ValueError if a call has no source, or one is invalid."""
    if audio is None and video is None:
        raise ValueError(f"audio and video of {whose} are None: allowed is a call with something to send")
    if audio is not None:
        require_within(audio, size_bytes=(1, 65535), interval_ms=(0.1, 1e4))
    if video is not None:
        describe_video(video)
