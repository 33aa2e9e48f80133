"""Scenario leo: scenario replay with five measured satellite series under the data root, one per path.

Measured: round-trip times at 11-15 ms spacing, half of which is the one-way delay. Each series is pings over one access, so a path is an
access, not a relay. Splits are in time.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.replay import Measured, Replay, read_pairs
from vcgym.network.traces.cards import Card, data_root
from vcgym.network.traces.reading import TraceError
from vcgym.network.traces.trace_file import ENDING, read_trace

FOLDER = "leo_ping_10ms"
NOT_SHIPPED = "not-shipped"
SERIES = ("starlink_victoria_1", "starlink_victoria_3", "starlink_victoria_4", "starlink_victoria_5", "oneweb_iowa")


def files(root: Path, names: tuple[str, ...] = SERIES) -> list[Path]:
    """Return the files of series under the data root.

    Raises:
        TraceError: the root has no folder of series.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        raise TraceError(folder, "folder", "missing", f"a folder {FOLDER} under the data root")
    return [folder / f"{name}{ENDING}" for name in names]


def measured(data: str | None) -> tuple[NDArray[np.int64], str]:
    """Return the slots (paths, slots) of the five series, and the hash of their cards."""
    found = read_pairs({"leo": files(data_root(data))})
    return found.slots[0], found.card


class Leo(Replay):
    """Recipe with a single pair, `leo`; stratum `not-shipped`, by name, has a board of its own in suites of shipped series."""

    by_name = (NOT_SHIPPED,)

    def measure(self) -> Measured:
        slots, card = measured(self.settings.data)
        ends = [int(np.flatnonzero(of_path != LOST)[-1]) + 1 for of_path in slots]
        return Measured(
            ("leo",), SERIES, slots[None], card, (tuple(np.array([[0, end]]) for end in ends),), np.zeros((1, len(ends)), np.int64),
            series=(SERIES,),
        )  # fmt: skip

    def cards(self) -> list[Card]:
        return [read_trace(file).card for file in files(data_root(self.settings.data))]
