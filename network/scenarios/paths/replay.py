"""Scenario replay: measured traces, one per path, from files of any importer; mode replay.

A trace file is a path. A folder of trace files is a pair, with its paths in order of file name; `Direct` uses the first path, or the one
that `direct` names. A folder of such folders contains several pairs, whose files have the same names. A round trip counts half as one-way
delay. A world uses a segment of each path's trace between two gaps (`vcgym.network.traces.coverage`), each at its own offset, or with
`offsets="common"` all at the same time of the clock that the logs share; traces without a clock begin together.

Splits: `MIN_SPLIT_PAIRS` pairs or more are split by pair (60, 20, 20 % by a hash of the name). Fewer pairs are split in time: the first
60 %, the next 20 % and the last 20 % of each trace, or of the time that the paths have in common. The history before a call is taken from
the same part. `ALL` is every pair and the whole time.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.scenarios.splits import ALL, split_by_hash
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.coverage import GAP_S, SlotCoverage, coverage, parts
from vcgym.network.traces.trace import Trace, to_slots
from vcgym.network.traces.trace_file import ENDING, read_trace
from vcgym.network.worlds.replay import replay_world
from vcgym.network.worlds.world import HISTORY_BLOCKS, World

MIN_SPLIT_PAIRS = 5
PART_OF_TRACE = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1.0), ALL: (0.0, 1.0)}
_HISTORY = HISTORY_BLOCKS * BLOCK_SLOTS


class Measured(NamedTuple):
    """Measured pairs as slots.

    Attributes:
        pairs: name of each pair.
        paths: name of each path, the same for every pair.
        slots: int64 (pairs, paths, slots), one-way delay in microseconds or LOST; shorter traces padded with LOST at the end.
        card: SHA-256 of the cards of all traces.
        parts: by pair and path: first slot and end slot of each part of a trace between gaps, int64 (parts, 2).
        begins: int64 (pairs, paths), slot in which each trace begins, on the clock of its pair.
        coverage: coverage of each trace, by pair and path.
        series: name of each trace, by pair and path; a trace that several pairs have is named once.
    """

    pairs: tuple[str, ...]
    paths: tuple[str, ...]
    slots: NDArray[np.int64]
    card: str
    parts: tuple[tuple[NDArray[np.int64], ...], ...]
    begins: NDArray[np.int64]
    coverage: tuple[tuple[SlotCoverage, ...], ...] = ()
    series: tuple[tuple[str, ...], ...] = ()


class Replay(Recipe):
    """Pairs of measured paths; a world is a pair and an offset into the trace of each path."""

    modes = ("replay",)
    has_all = True

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self.strata = {"measured": 1.0}
        self.measured = found = self.measure()
        card = found.card if settings.offsets == "own" else hashlib.sha256(f"{found.card} {settings.offsets}".encode()).hexdigest()
        self.layout = Layout(found.paths, np.zeros((0, 3), np.int64), card)

    def measure(self) -> Measured:
        """Read the traces that the settings name."""
        return read_pairs(direct_first(pair_files(self.settings.traces), self.settings.direct))

    def cards(self) -> list[Card]:
        """Return the card of each trace."""
        return [read_trace(file).card for files in pair_files(self.settings.traces).values() for file in files]

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split.

        Raises:
            DataError: a trace is too short, between its gaps, for a call of the split plus its history.
        """
        names = list(self.measured.pairs)
        chosen = names if split == ALL or not self.split_by_pair else self.split_pairs(names)[split]
        for pair in chosen:
            self._starts(split, names.index(pair))
        return chosen

    @property
    def split_by_pair(self) -> bool:
        """Return True if there are enough pairs to split them; otherwise each trace is split in time."""
        return len(self.measured.pairs) >= MIN_SPLIT_PAIRS

    def split_pairs(self, names: list[str]) -> dict[str, list[str]]:
        """Return the pairs of each split, if they are split by pair."""
        return split_by_hash(names)

    def world(self, sessions: int) -> World:
        return replay_world(sessions, self.measured.slots)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Sample an offset into each trace, or one for all, within the split's part of it."""
        row = self.measured.pairs.index(pair)
        offsets = [_nth(starts, int(draws.integers(_count(starts)))) for starts in self._starts(split, row)]
        return {"pair": row, "offset": np.array(offsets, np.int64) - self._shifts(row)}

    def stretches(self, parameters: Mapping[str, Any]) -> list[tuple[str, int, int]]:
        """Return what a call has of each path's trace: name of the trace, first slot and end slot."""
        found, pair = self.measured, parameters["pair"]
        names = found.series[pair] if found.series else [f"{found.pairs[pair]}/{path}" for path in found.paths]
        begins = [int(offset) for offset in parameters["offset"]]
        return [(name, at, at + self.settings.packets) for name, at in zip(names, begins, strict=True)]

    def _shifts(self, pair: int) -> NDArray[np.int64]:
        """Return the slot in which each trace of a pair begins on the time axis of the offsets, int64 (paths,); 0 for a trace's own."""
        return self.measured.begins[pair] * (self.settings.offsets == "common")

    def _starts(self, split: str, pair: int) -> list[NDArray[np.int64]]:
        """Return the ranges (first, end) in which a call of the split may begin, int64 (ranges, 2), for each offset that is drawn."""
        name, paths = self.measured.pairs[pair], self.measured.paths
        axes = [parts + shift for parts, shift in zip(self.measured.parts[pair], self._shifts(pair), strict=True)]
        if self.settings.offsets == "common":
            return [self._of_split(f"traces {name}, what all paths have in common", split, functools.reduce(_both, axes))]
        return [self._of_split(f"trace {name}/{path}", split, axis) for path, axis in zip(paths, axes, strict=True)]

    def _of_split(self, name: str, split: str, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        low, high = (0.0, 1.0) if self.split_by_pair else PART_OF_TRACE[split]
        begin, end = (int(parts[0, 0]), int(parts[-1, 1])) if len(parts) else (0, 0)
        first = np.maximum(parts[:, 0], begin + int(low * (end - begin)))
        last = np.minimum(parts[:, 1], begin + int(high * (end - begin)))
        needed = _HISTORY + self.settings.packets
        long = last - first >= needed
        if not long.any():
            part = "" if split == ALL else f" in its {split} part"
            where = f"slots of 10 ms{part}" + (f", longest stretch without a gap of {GAP_S:g} s" * (len(parts) > 1))
            allowed = f"at least {needed}: {_HISTORY} of history and packets={self.settings.packets} of the call"
            raise DataError(name, where, max(int((last - first).max(initial=0)), 0), allowed)
        return np.stack([first[long] + _HISTORY, last[long] - self.settings.packets + 1], axis=1)


def _both(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the intersection of two sorted lists of ranges (first, end), int64 (ranges, 2)."""
    first, end = np.maximum(a[:, None, 0], b[None, :, 0]).ravel(), np.minimum(a[:, None, 1], b[None, :, 1]).ravel()
    return np.stack([first, end], axis=1)[end > first]


def _count(ranges: NDArray[np.int64]) -> int:
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def _nth(ranges: NDArray[np.int64], n: int) -> int:
    """Return the n-th number, from 0, of ranges (first, end)."""
    ends = np.cumsum(ranges[:, 1] - ranges[:, 0])
    at = int(np.searchsorted(ends, n, "right"))
    return int(ranges[at, 1] - (ends[at] - n))


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


def direct_first(pairs: dict[str, list[Path]], direct: str | None) -> dict[str, list[Path]]:
    """Return the files of each pair with the path `direct` first; unchanged for None.

    Raises:
        DataError: no path has this name.
    """
    names = [path_name(file) for file in next(iter(pairs.values()))]
    if direct is None:
        return pairs
    if direct not in names:
        raise DataError("scenario replay", "direct", direct, f"a path: {', '.join(names)}")
    return {pair: sorted(files, key=lambda file: path_name(file) != direct) for pair, files in pairs.items()}


def path_name(file: Path) -> str:
    """Return the name of the path of a trace file."""
    return file.name.removesuffix(ENDING)


def read_pairs(pairs: dict[str, list[Path]]) -> Measured:
    """Read the traces of each pair as slots.

    Raises:
        DataError: a file is missing, broken or not a trace.
    """
    paths = tuple(path_name(file) for file in next(iter(pairs.values())))
    return as_slots({pair: [read_trace(file) for file in files] for pair, files in pairs.items()}, paths)


def as_slots(pairs: Mapping[str, Sequence[Trace]], paths: tuple[str, ...]) -> Measured:
    """Return the traces of each pair, one per path, as slots."""
    by_pair = list(pairs.values())
    traces = [trace for of_pair in by_pair for trace in of_pair]
    series = [to_slots(trace) for trace in traces]
    table = np.full((len(series), max(map(len, series))), LOST, np.int64)
    for row, values in zip(table, series, strict=True):
        row[: len(values)] = values
    begins_us = np.array([[trace.start_us for trace in of_pair] for of_pair in by_pair])
    return Measured(
        tuple(pairs),
        paths,
        table.reshape(len(pairs), len(paths), -1),
        hashlib.sha256("".join(trace.card.sha256 for trace in traces).encode()).hexdigest(),
        tuple(tuple(parts(trace.sent_us) for trace in of_pair) for of_pair in by_pair),
        (begins_us - begins_us.min(axis=1, keepdims=True)) // SLOT_US,
        tuple(tuple(coverage(trace.sent_us) for trace in of_pair) for of_pair in by_pair),
        tuple(tuple(f"{Path(trace.name).name} {trace.card.sha256[:8]}" for trace in of_pair) for of_pair in by_pair),
    )


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name.endswith(ENDING) and file.is_file() and not file.name.startswith("."))
