"""Delay distributions as counts on one fixed grid, so that they can be summed over calls and saved in a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from vcgym.envs.call.batch import Played

ACCOUNTINGS = ("event", "clocked")  # for calls over paths
GRID_MS = np.arange(0.0, 2001.0, 10.0)


class DelayCdf(NamedTuple):
    """Counts of the sent packets that were received within each delay of `GRID_MS`.

    Attributes:
        packets_within: (len(GRID_MS),) int64, packets with an end-to-end delay up to the grid value.
        packets_sent: packets sent, including lost ones, so that discarding gains nothing; `event` excludes packets flushed at the end of
            the stream.
    """

    packets_within: np.ndarray
    packets_sent: int

    @property
    def share(self) -> np.ndarray:
        """Share of packets (len(GRID_MS),), float64 in 0..1."""
        return self.packets_within / max(1, self.packets_sent)

    @classmethod
    def of_all(cls, parts: Iterable["DelayCdf"]) -> Self:
        """Return the distribution over the packets of all `parts`."""
        parts = list(parts)
        return cls(np.sum([part.packets_within for part in parts], axis=0), sum(part.packets_sent for part in parts))


Where = tuple[str, str, str, str]
"""Board, scenario, pair, accounting."""

Cdfs = dict[Where, dict[str, DelayCdf]]
"""Distributions by place and system."""


def delay_cdf(played: "Played", sessions: Sequence[int] | slice = slice(None)) -> dict[str, DelayCdf]:
    """Return the distribution of the end-to-end delay over all packets of some sessions of a batch, per accounting."""
    sent_us = np.arange(played.arrived_us.shape[1], dtype=np.int64) * played.packet_us
    emitted_us, flushed, played_us = played.emitted_us[sessions], played.flushed[sessions], played.played_us[sessions]
    emitted = (emitted_us >= 0) & ~flushed
    return {
        "event": count_within((emitted_us - sent_us)[emitted], flushed.size - int(flushed.sum())),
        "clocked": count_within((played_us - sent_us)[played_us >= 0], played_us.size),
    }


def read_cdfs(table: pa.Table) -> Cdfs:
    """Return the distributions of a `cdf.parquet` table.

    Raises:
        ValueError: a distribution does not cover the grid.
    """
    cdfs: Cdfs = {}
    for row in table.to_pylist():
        where = (row["mode"], row["scenario"], row["pair"], row["accounting"])
        if len(row["packets_within"]) != len(GRID_MS):
            raise ValueError(f"cdf.parquet: distribution of {row['system']!r} ({', '.join(where)}) is not on the grid 0, 10 ... 2000 ms")
        cdfs.setdefault(where, {})[row["system"]] = DelayCdf(np.array(row["packets_within"], np.int64), row["packets_sent"])
    return cdfs


def by_method(cdfs: Cdfs, methods: Mapping[str, Sequence[str]]) -> Cdfs:
    """Return the distributions with each method, over the packets of its trainings, in place of these."""
    pooled = {run for runs in methods.values() for run in runs}
    return {
        where: {system: cdf for system, cdf in of_where.items() if system not in pooled}
        | {name: DelayCdf.of_all(of_where[run] for run in runs) for name, runs in methods.items() if runs[0] in of_where}
        for where, of_where in cdfs.items()
    }


def of_board(cdfs: Cdfs, mode: str, accounting: str) -> dict[str, DelayCdf]:
    """Return the distribution of each system over all worlds of a board."""
    parts: dict[str, list[DelayCdf]] = {}
    for (board, _, _, kind), by_system in cdfs.items():
        if (board, kind) == (mode, accounting):
            for system, cdf in by_system.items():
                parts.setdefault(system, []).append(cdf)
    return {system: DelayCdf.of_all(found) for system, found in parts.items()}


def count_within(delay_us: np.ndarray, sent: int) -> DelayCdf:
    """Return the distribution of delays in us, of `sent` packets."""
    return DelayCdf(np.searchsorted(np.sort(delay_us), (GRID_MS * 1000.0).astype(np.int64), side="right"), sent)
