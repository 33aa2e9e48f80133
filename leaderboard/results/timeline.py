"""Timelines of a few sessions in bins: small enough for a page, detailed enough to see path changes and their effect."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from vcgym.envs.call.batch import Played

BINS = 200  # maximum
WorldName = tuple[str, int]  # pair and seed


def timelines(played: "Played", names: Sequence[WorldName], worlds: Sequence[WorldName], paths: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return the timelines of those sessions that are saved, by session: the first world of a part of a suite, and the one in its middle.

    Args:
        played: finished sessions.
        names: world of each session.
        worlds: all worlds of the part.
        paths: names of the paths.
    """
    watched = {worlds[0], worlds[len(worlds) // 2]}
    return {s: {"path_names": list(paths), **_timeline(played, s)} for s, world in enumerate(names) if world in watched}


def _timeline(played: "Played", s: int) -> dict[str, Any]:
    """Return one session in at most `BINS` bins with equal numbers of packets; the last bin may have fewer.

    Returns:
        packets_per_bin; and per bin: median and maximum event end-to-end delay in ms, rounded (-1: nothing was emitted), number of packets
        lost or discarded, path of the last packet, and number of path changes.
    """
    packets = played.path.shape[1]
    width = -(-packets // BINS)
    sent_us = np.arange(packets, dtype=np.int64) * played.packet_us
    delay_ms = (played.emitted_us[s] - sent_us) / 1000.0
    emitted = (played.emitted_us[s] >= 0) & ~played.flushed[s]
    changed = np.diff(played.path[s], prepend=played.path[s, :1]) != 0
    bins = [slice(first, min(first + width, packets)) for first in range(0, packets, width)]
    delays_ms = [delay_ms[inside][emitted[inside]] for inside in bins]
    return {
        "packets_per_bin": width,
        "delay_median_ms": [round(float(np.median(delays))) if len(delays) else -1 for delays in delays_ms],
        "delay_most_ms": [round(float(delays.max())) if len(delays) else -1 for delays in delays_ms],
        "missing": [int((~emitted[inside] & ~played.flushed[s, inside]).sum()) for inside in bins],
        "path": [int(played.path[s, inside][-1]) for inside in bins],
        "path_changes": [int(changed[inside].sum()) for inside in bins],
    }
