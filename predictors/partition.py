"""Three ways to hold out rows. Only the last measures how a predictor generalises to unseen pairs.

- random: a random fifth of the rows, as in the VCRoute paper: packets sent milliseconds before and after a held-out packet under the same
  conditions remain in the training set
- time: the last fifth of every call
- pair: every call of a fifth of the pairs
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.predictors.rows import Rows

Holdout = Literal["random", "time", "pair"]

MIN_PAIRS = 3
TEST_SHARE = 0.2
CHECK_SHARE = 0.1  # share of the remaining rows for early stopping


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
