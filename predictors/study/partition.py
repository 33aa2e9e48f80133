"""Three ways to hold rows out. Only the last says what a predictor is worth where it has never been.

- random: any fifth of the rows, as in the VCRoute paper: neighbours of a held-out packet, sent milliseconds before and after it under the
  same conditions, stay in training
- time: the last fifth of every call
- pair: every call of a fifth of the pairs
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.predictors.study.rows import Rows

Holdout = Literal["random", "time", "pair"]

MIN_PAIRS = 3
TEST_SHARE = 0.2
CHECK_SHARE = 0.1  # of what is left: to stop early by


class Partition(NamedTuple):
    """Rows to learn from, to stop by, and to be judged on; no row is in two."""

    fit: Rows
    check: Rows
    test: Rows


def partition(rows: Rows, holdout: Holdout, seed: int) -> Partition:
    """Split rows; `check` is held out in the same way as `test`.

    Raises:
        ValueError: fewer than three pairs to hold out from, or a part without rows.
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
