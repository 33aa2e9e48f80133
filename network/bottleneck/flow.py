"""Cross-traffic flows and their record for kernels: TCP that always has data or sends files, on-off UDP, or another call.

On-off UDP: while on, packets of equal size evenly spaced at `rate_bps`. On and off times are exponential; with an off time of 0 it is
always on, a constant bit rate. With `spacing` POISSON the gaps are exponential.
"""

import math
from typing import Any, NamedTuple

from vcgym.network.bottleneck.other_call import OtherCall, require_other_call
from vcgym.network.bottleneck.tcp_flow import NEVER_US, Connection
from vcgym.network.bottleneck.tcp_window import CONTROLS
from vcgym.network.kernels.ranges import one_of, require_within
from vcgym.network.kernels.record import record, records

TCP, UDP, CALL = 0, 1, 2
EVEN, POISSON = 0, 1


@record
class Flow:
    """Flow for kernels, which as it stands never starts."""

    kind: int = TCP
    starts_us: int = NEVER_US
    stops_us: int = NEVER_US
    next_us: int = 0  # next event, or NEVER_US
    size_bytes: int = 0  # packet size including all headers
    forward_us: int = 0
    backward_us: int = 0
    jitter_us: float = 0.0
    acked_us: int = 0  # arrival of the last acknowledgement
    loss: float = 0.0  # probability of random loss before the queue
    gap_us: float = 0.0  # UDP: packet interval
    due_us: float = 0.0  # UDP: time of the next packet
    on_until_us: float = 0.0
    on_us: float = 0.0  # UDP: mean on time
    off_us: float = 0.0
    spacing: int = EVEN
    draws: int = 0
    file_low: int = 0  # TCP: segments of a file; 0: always data
    file_high: int = 0
    until: int = 0  # TCP: segments below this may be sent
    call: int = 0  # index among the other calls
    sent: int = 0
    lost: int = 0
    dropped: int = 0
    connection: Connection


class Tcp(NamedTuple):
    """A TCP connection that always has data, from `starts_s` to `stops_s`; or sends files.

    File sizes are uniform in `file_bytes` (minimum, maximum). After each file the connection is idle, exponentially with mean `idle_s`, and
    then restarts.
    """

    control: str = "reno"  # a key of CONTROLS
    size_bytes: int = 1500
    forward_ms: float = 20.0
    backward_ms: float = 20.0
    jitter_ms: float = 1.0
    starts_s: float = 0.0
    stops_s: float = math.inf
    loss: float = 0.0
    file_bytes: tuple[int, int] | None = None
    idle_s: float = 10.0


class Udp(NamedTuple):
    """On-off UDP; `off_s` 0: always on."""

    rate_bps: float = 1e6
    size_bytes: int = 1500
    on_s: float = 1.0
    off_s: float = 0.0
    poisson: bool = False
    starts_s: float = 0.0
    stops_s: float = math.inf
    loss: float = 0.0


def describe_flow(which: Tcp | Udp | OtherCall) -> Any:
    """Return the flow's record of `Flow`.

    Raises:
        ValueError: an unknown control or rule, or a number out of range.
    """
    _require(which)
    flow = records(Flow, 1)[0]
    flow["starts_us"] = round(which.starts_s * 1e6)
    flow["stops_us"] = NEVER_US if which.stops_s == math.inf else round(which.stops_s * 1e6)
    flow["loss"] = which.loss
    if isinstance(which, OtherCall):
        flow["kind"] = CALL
        return flow
    flow["size_bytes"] = which.size_bytes
    if isinstance(which, Tcp):
        flow["kind"] = TCP
        flow["forward_us"], flow["backward_us"] = round(which.forward_ms * 1000), round(which.backward_ms * 1000)
        flow["jitter_us"] = which.jitter_ms * 1000
        if which.file_bytes is not None:
            flow["file_low"], flow["file_high"] = (-(-size // which.size_bytes) for size in which.file_bytes)
            flow["off_us"] = which.idle_s * 1e6
        flow["connection"]["window"]["control"] = CONTROLS[which.control]
    else:
        flow["kind"], flow["spacing"] = UDP, POISSON if which.poisson else EVEN
        flow["gap_us"] = which.size_bytes * 8e6 / which.rate_bps
        flow["on_us"], flow["off_us"] = which.on_s * 1e6, which.off_s * 1e6
    return flow


def _require(which: Tcp | Udp | OtherCall) -> None:
    if isinstance(which, OtherCall):
        require_other_call(which)
        return
    require_within(which, size_bytes=(1, 65535), starts_s=(0.0, 1e9), stops_s=(which.starts_s, math.inf), loss=(0.0, 0.999))
    if isinstance(which, Udp):
        require_within(which, rate_bps=(1e3, 1e10), on_s=(1e-3, 1e9), off_s=(0.0, 1e9))
        return
    require_within(which, forward_ms=(0.0, 60e3), backward_ms=(0.0, 60e3), jitter_ms=(0.0, 1e3), idle_s=(0.0, 1e9))
    if which.file_bytes is not None and not 1 <= which.file_bytes[0] <= which.file_bytes[1] <= 1 << 40:
        raise ValueError(f"Tcp.file_bytes is {which.file_bytes}; allowed is 1 <= minimum <= maximum <= {1 << 40}")
    one_of("Tcp.control", which.control, tuple(CONTROLS))
    if which.forward_ms + which.backward_ms <= 0.0:
        raise ValueError("Tcp.forward_ms + Tcp.backward_ms is 0; allowed is a round trip above 0")
