"""A half-duplex medium that all stations of a cell share: packets of both directions take turns in order of arrival (Wi-Fi).

A packet holds the medium for an access time and for its bits at the rate of its station, so a slow station takes air from all others
(Heusse et al., INFOCOM 2003). The bottleneck's queue counts this time as bytes at the rate of the medium; its capacity trace is that rate
times the share of the air that other networks leave. A TCP segment brings its acknowledgement along. Left out: collisions, retries,
aggregation of frames, and queues of single stations, so a packet's direction makes no difference.
"""

from typing import NamedTuple

from vcgym.network.kernels.ranges import require_within

ACK_BYTES = 40  # TCP and IP headers


class Air(NamedTuple):
    """Shared medium.

    Attributes:
        mbps: rate of the medium, and of stations without a rate of their own: 802.11n, MCS 11 in 20 MHz.
        access_us: air of a packet beside its bits, 802.11n: AIFS 43, mean backoff 67.5, preamble 36, SIFS 16, acknowledgement 28 us.
    """

    mbps: float = 52.0
    access_us: float = 190.5


def require_air(air: Air | None, station_mbps: float | None, whose: str) -> None:
    """Check a medium and the rate of a station.

    Raises:
        ValueError: a number is out of range, or a station has a rate without a medium.
    """
    if air is not None:
        require_within(air, mbps=(0.1, 1e4), access_us=(0.0, 1e5))
    if station_mbps is not None and (air is None or not 0.1 <= station_mbps <= 1e4):
        raise ValueError(f"station_mbps = {station_mbps} of {whose}: allowed is 0.1 to 10,000 with a medium `air`, None without")


def medium_bytes(air: Air, station_mbps: float | None = None) -> tuple[float, float]:
    """Return what a packet of a station costs in bytes of the medium: for each of its bytes, and for its access."""
    return (1.0 if station_mbps is None else air.mbps / station_mbps), air.access_us * air.mbps / 8.0


def traffic_bytes(air: Air, size_bytes: int, acknowledged: bool) -> int:
    """Return what a packet of cross traffic costs in bytes of the medium, with its acknowledgement if it has one."""
    _, access = medium_bytes(air)
    return round(size_bytes + access + (ACK_BYTES + access if acknowledged else 0.0))
