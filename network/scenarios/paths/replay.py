"""Scenario replay: measured traces, one per path, from files of any importer; mode replay.

A trace file is a path. A folder of trace files is a pair, with its paths in order of file name; `Direct` uses the first path. A folder of
such folders contains several pairs, whose files have the same names. A round trip counts half as one-way delay. Traces have no common
clock, so a world uses a segment of each path's trace at its own offset.

Splits: `MIN_SPLIT_PAIRS` pairs or more are split by pair (60, 20, 20 % by a hash of the name). Fewer pairs are split in time: the first
60 %, the next 20 % and the last 20 % of each trace. The history before a call is taken from the same part.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios.recipe import Layout, Recipe, Settings
from vcgym.network.scenarios.splits import split_by_hash
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.trace import to_slots
from vcgym.network.traces.trace_file import ENDING, read_trace
from vcgym.network.worlds.replay import ReplayWorld
from vcgym.network.worlds.world import HISTORY_BLOCKS, World

MIN_SPLIT_PAIRS = 5
PART_OF_TRACE = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1.0)}
_WHOLE = (0.0, 1.0)
_HISTORY = HISTORY_BLOCKS * BLOCK_SLOTS


class Measured(NamedTuple):
    """Measured pairs as slots.

    Attributes:
        pairs: name of each pair.
        paths: name of each path, the same for every pair.
        slots: int64 (pairs, paths, slots), one-way delay in microseconds or LOST; shorter traces padded with LOST at the end.
        card: SHA-256 of the cards of all traces.
    """

    pairs: tuple[str, ...]
    paths: tuple[str, ...]
    slots: NDArray[np.int64]
    card: str


class Replay(Recipe):
    """Pairs of measured paths; a world is a pair and an offset into the trace of each path."""

    modes = ("replay",)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.strata = {"measured": 1.0}
        self._measured = self.measure()
        self.layout = Layout(self._measured.paths, np.zeros((0, 3), np.int64), self._measured.card)

    def measure(self) -> Measured:
        """Read the traces that the settings name."""
        return read_pairs(pair_files(self.settings.traces))

    def cards(self) -> list[Card]:
        """Return the card of each trace."""
        return [read_trace(file).card for files in pair_files(self.settings.traces).values() for file in files]

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split.

        Raises:
            DataError: a trace is too short for a call of the split plus its history.
        """
        names = list(self._measured.pairs)
        chosen = split_by_hash(names)[split] if len(names) >= MIN_SPLIT_PAIRS else names
        for pair in chosen:
            for path in range(len(self._measured.paths)):
                self._offsets(split, self._measured.pairs.index(pair), path)
        return chosen

    def world(self, sessions: int) -> World:
        """Return an empty world for a batch of sessions."""
        return ReplayWorld(sessions, self._measured.slots)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Sample an offset into each trace, within the split's part of it."""
        row = self._measured.pairs.index(pair)
        offsets = [int(draws.integers(*self._offsets(split, row, path))) for path in range(len(self._measured.paths))]
        return {"pair": row, "offset": np.array(offsets, np.int64)}

    def _offsets(self, split: str, pair: int, path: int) -> tuple[int, int]:
        """Return the range (first, last + 1) of the offsets at which a call of the split may begin."""
        slots = int(np.flatnonzero(self._measured.slots[pair, path] != LOST)[-1]) + 1
        low, high = PART_OF_TRACE[split] if len(self._measured.pairs) < MIN_SPLIT_PAIRS else _WHOLE
        first, last = int(low * slots) + _HISTORY, int(high * slots) - self.settings.packets
        if last < first:
            name = f"{self._measured.pairs[pair]}/{self._measured.paths[path]}"
            needed = f"at least {_HISTORY + self.settings.packets}: {_HISTORY} of history and packets={self.settings.packets} of the call"
            raise DataError(f"trace {name}", f"slots of 10 ms in its {split} part", int(high * slots) - int(low * slots), needed)
        return first, last + 1


def absolute(traces: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the absolute path of each file or folder of traces, because workers may have other working directories."""
    if traces is None:
        return None
    return tuple(str(Path(one).expanduser().absolute()) for one in ([traces] if isinstance(traces, str) else traces))


def pair_files(traces: Sequence[str] | None) -> dict[str, list[Path]]:
    """Return the files of each pair, in order of path.

    Args:
        traces: a folder of traces, a folder of such folders, or files of traces.

    Raises:
        DataError: no trace found, files and folders in one folder, or pairs whose file names differ.
    """
    if not traces:
        raise DataError("scenario replay", "traces", traces, f"a folder of traces (*{ENDING}), a folder of such folders, or files")
    named = [Path(one) for one in traces]
    if len(named) > 1 or named[0].is_file():
        names = [file.name for file in named]
        if len(set(names)) < len(names):
            raise DataError("scenario replay", "names of the files", names, "each name once: it names a path")
        return {named[0].parent.name: named}
    folder = named[0]
    if not folder.is_dir():
        raise DataError(folder, "traces", "missing", "a folder or file that exists")
    pairs = {inner.name: found for inner in sorted(folder.iterdir()) if inner.is_dir() and (found := _files_in(inner))}
    files = _files_in(folder)
    if bool(pairs) == bool(files):
        described = f"{len(files)} traces, {len(pairs)} folders of traces"
        raise DataError(folder, "content", described, f"traces (*{ENDING}, one a path) or folders of traces (one a pair), not both")
    pairs = pairs or {folder.name: files}
    wanted = [file.name for file in next(iter(pairs.values()))]
    for name, found in pairs.items():
        if [file.name for file in found] != wanted:
            raise DataError(folder / name, "names of the files", [file.name for file in found], f"{wanted}, the same paths in every pair")
    return pairs


def read_pairs(pairs: dict[str, list[Path]]) -> Measured:
    """Read the traces of each pair as slots.

    Raises:
        DataError: a file is missing, broken or not a trace.
    """
    traces = [read_trace(file) for files in pairs.values() for file in files]
    series = [to_slots(trace) for trace in traces]
    table = np.full((len(series), max(map(len, series))), LOST, np.int64)
    for row, values in zip(table, series, strict=True):
        row[: len(values)] = values
    paths = tuple(file.name.removesuffix(ENDING) for file in next(iter(pairs.values())))
    card = hashlib.sha256("".join(trace.card.sha256 for trace in traces).encode()).hexdigest()
    return Measured(tuple(pairs), paths, table.reshape(len(pairs), len(paths), -1), card)


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name.endswith(ENDING) and file.is_file() and not file.name.startswith("."))
