"""Delay distributions on one fixed grid, as counts, so that calls add up and a file can hold them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from vcgym.envs.batch import Played

ACCOUNTINGS = ("event", "clocked")
GRID_MS = np.arange(0.0, 2001.0, 10.0)


class DelayCdf(NamedTuple):
    """How many of the packets sent were heard within each delay of `GRID_MS`.

    Attributes:
        packets_within: (len(GRID_MS),) int64, packets with an end-to-end delay of at most that.
        packets_sent: packets sent, lost ones included, so that a system gains nothing by discarding; `event` leaves out packets flushed at
            the end of the stream.
    """

    packets_within: np.ndarray
    packets_sent: int

    @property
    def share(self) -> np.ndarray:
        """(len(GRID_MS),) float64 in 0..1."""
        return self.packets_within / max(1, self.packets_sent)


Cdfs = dict[tuple[str, str], dict[str, DelayCdf]]
"""(mode, accounting) -> system -> distribution."""


def delay_cdf(played: "Played") -> dict[str, DelayCdf]:
    """Distribution of the end-to-end delay over all packets of a batch, one for each accounting."""
    sent_us = np.arange(played.arrived_us.shape[1], dtype=np.int64) * played.packet_us
    emitted = (played.emitted_us >= 0) & ~played.flushed
    return {
        "event": _count((played.emitted_us - sent_us)[emitted], played.flushed.size - int(played.flushed.sum())),
        "clocked": _count((played.played_us - sent_us)[played.played_us >= 0], played.played_us.size),
    }


def cdf_rows(system: str, mode: str, batches: Iterable[dict[str, DelayCdf]]) -> list[dict[str, Any]]:
    """Rows of `cdf.parquet` for one system in one mode, its batches added up."""
    batches = list(batches)
    return [
        {
            "system": system,
            "mode": mode,
            "accounting": accounting,
            "delay_ms": float(delay_ms),
            "packets_within": int(sum(batch[accounting].packets_within[place] for batch in batches)),
            "packets_sent": sum(batch[accounting].packets_sent for batch in batches),
        }
        for accounting in ACCOUNTINGS
        for place, delay_ms in enumerate(GRID_MS)
    ]


def read_cdfs(table: pa.Table) -> Cdfs:
    """Distributions of a `cdf.parquet` table.

    Raises:
        ValueError: a distribution does not cover the grid.
    """
    cdfs: Cdfs = {}
    columns = [table[name].to_pylist() for name in ("mode", "accounting", "system", "packets_sent")]
    groups: dict[tuple[str, str, str, int], list[int]] = {}
    for number, key in enumerate(zip(*columns, strict=True)):
        groups.setdefault(key, []).append(number)
    delay_ms, within = table["delay_ms"].to_numpy(), table["packets_within"].to_numpy()
    for (mode, accounting, system, sent), numbers in groups.items():
        if not np.array_equal(delay_ms[numbers], GRID_MS):
            raise ValueError(f"delay distribution of {system!r} ({mode}, {accounting}) is not on the grid 0, 10 ... 2000 ms")
        cdfs.setdefault((mode, accounting), {})[system] = DelayCdf(within[numbers], sent)
    return cdfs


def _count(delay_us: np.ndarray, sent: int) -> DelayCdf:
    return DelayCdf(np.searchsorted(np.sort(delay_us), (GRID_MS * 1000.0).astype(np.int64), side="right"), sent)
