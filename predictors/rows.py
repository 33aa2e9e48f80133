"""Rows to train and test predictors: a Parquet file of packets with the information known at sending and the measured delay.

A row is one packet that the receiver emitted. Inputs contain only what had been fed back when the router decided, except
`oracle_transmit_ms`, the packet's own delay, which shows the value of a forecast from it.

Rows are sorted by session and packet.

There are three ways to hold out rows. Only the last measures how a predictor generalises to unseen pairs.

- random: a random fifth of the rows, as in the VCRoute paper: packets sent milliseconds before and after a held-out packet under the same
  conditions remain in the training set
- time: the last fifth of every call
- pair: every call of a fifth of the pairs
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vcgym.network.traces.plain_file import read_plain
from vcgym.network.traces.refusal import one_line, shown

Holdout = Literal["random", "time", "pair"]
TEST_SHARE = 0.2
CHECK_SHARE = 0.1  # share of the remaining rows for early stopping
_MAX_BYTES = 1 << 30
COLUMNS = pa.schema(
    [
        pa.field(name, kind, nullable=False)
        for name, kind in {
            "mode": pa.string(),
            "scenario": pa.string(),
            "pair": pa.string(),
            "split": pa.string(),
            "stratum": pa.string(),
            "seed": pa.int64(),  # seed of the world
            "router": pa.string(),
            "receiver": pa.string(),
            "session": pa.int64(),  # number of the call in the file
            "packet": pa.int64(),
            "path": pa.int64(),
            "transmit_ms": pa.float64(),  # one-way delay of the path's newest packet with feedback
            "age_ms": pa.float64(),  # since that packet was sent
            "lag_ms": pa.float64(),  # Algorithm 2 at the sender, computed from feedback
            "diff_ms": pa.float64(),  # d of its line 3
            "oracle_transmit_ms": pa.float64(),  # the packet's own one-way delay
            "end_to_end_ms": pa.float64(),  # emission minus sending, the target
        }.items()
    ]
)
_ABOVE_ZERO = ("transmit_ms", "age_ms", "oracle_transmit_ms", "end_to_end_ms")

Jitter = Literal["lag", "diff"]


@dataclass(frozen=True)
class Rows:
    """Rows of a file.

    Attributes:
        columns: name -> values.
        jitter: the second input.
    """

    columns: dict[str, NDArray]
    jitter: Jitter = "lag"

    def __len__(self) -> int:
        return len(self["session"])

    def __getitem__(self, name: str) -> NDArray:
        return self.columns[name]

    @property
    def inputs(self) -> NDArray[np.float64]:
        """Return (n, 2) transmit delay and jitter, ms."""
        return np.column_stack([self["transmit_ms"], self[f"{self.jitter}_ms"]])

    @property
    def target_ms(self) -> NDArray[np.float64]:
        """Return the (n,) end-to-end delays."""
        return self["end_to_end_ms"]

    def take(self, which: NDArray) -> "Rows":
        """Select some of these rows by indices or by a mask."""
        return Rows({name: values[which] for name, values in self.columns.items()}, self.jitter)


def read_rows(path: Path, jitter: Jitter = "lag") -> Rows:
    """Read all rows of a file.

    Args:
        path: a Parquet file with the columns `COLUMNS`.
        jitter: the second input: one of the two readings of the paper.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is malformed, empty or unsorted, or holds a number that is not finite or not above 0, or rows of another split
            than train.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no rows at {path}; vcgym predictor-data makes them")
    try:
        table = pq.read_table(pa.BufferReader(read_plain(path, _MAX_BYTES)))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a whole Parquet file: {shown(str(error))}") from error
    if table.schema.remove_metadata() != COLUMNS:
        allowed = f"{COLUMNS.names} with the types {COLUMNS.types}"
        raise ValueError(one_line(f"{path} has the columns {shown(table.schema.names)}; allowed are {allowed}"))
    if holding := [name for name in COLUMNS.names if table[name].null_count]:
        raise ValueError(f"{path}: columns {holding} hold null; allowed: values in every row")
    columns = {name: table[name].combine_chunks().to_numpy(zero_copy_only=False) for name in COLUMNS.names}
    _require_sound(columns, path)
    return Rows(columns, jitter)


def _require_sound(columns: dict[str, NDArray], path: Path) -> None:
    if not len(columns["session"]):
        raise ValueError(f"{path} has no rows")
    if other := sorted(set(columns["split"]) - {"train"}):
        raise ValueError(f"{path}: column split holds {shown(other)}; allowed here: train")
    for name, kind in zip(COLUMNS.names, COLUMNS.types, strict=True):
        wrong = ~np.isfinite(columns[name]) if kind == pa.float64() else np.zeros(1, bool)
        if name in _ABOVE_ZERO:
            wrong |= ~(columns[name] > 0.0)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"{path}: row {row} of column {name} is {columns[name][row]}; allowed: finite, above 0 but for jitters")
    step = np.diff(columns["session"])
    if (step < 0).any() or ((step == 0) & (np.diff(columns["packet"]) <= 0)).any():
        raise ValueError(f"{path}: rows are not in order of session and packet")


class Partition(NamedTuple):
    """Disjoint rows for training, early stopping and testing."""

    fit: Rows
    check: Rows
    test: Rows


def partition(rows: Rows, holdout: Holdout, seed: int) -> Partition:
    """Split the rows; `check` is held out in the same way as `test`.

    Raises:
        ValueError: there are fewer than three pairs, or a part has no rows.
    """
    draws = np.random.default_rng(seed)
    held_out = _held_out(rows, holdout, TEST_SHARE, draws)
    rest = rows.take(~held_out)
    checked = _held_out(rest, holdout, CHECK_SHARE, draws)
    parts = Partition(rest.take(~checked), rest.take(checked), rows.take(held_out))
    if not all(len(part) for part in parts):
        raise ValueError(f"holdout {holdout!r} of {len(rows)} rows leaves a part empty; allowed are more rows, of at least three pairs")
    return parts


def _held_out(rows: Rows, holdout: Holdout, share: float, draws: np.random.Generator) -> NDArray[np.bool_]:
    if holdout == "random":
        held_out = np.zeros(len(rows), bool)
        held_out[draws.permutation(len(rows))[: round(share * len(rows))]] = True
        return held_out
    if holdout == "time":
        session, packet = rows["session"], rows["packet"]
        first = np.flatnonzero(np.diff(session, prepend=-1))
        last = np.append(first[1:], len(session)) - 1
        call = np.cumsum(np.diff(session, prepend=-1) != 0) - 1
        begin, end = packet[first][call], packet[last][call]
        return np.asarray(packet > begin + (1.0 - share) * (end - begin))
    names = np.char.add(np.char.add(rows["scenario"].astype(str), " "), rows["pair"].astype(str))
    pairs = np.unique(names)
    return np.isin(names, draws.permutation(pairs)[: max(1, round(share * len(pairs)))])
