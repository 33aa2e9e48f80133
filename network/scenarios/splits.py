"""Splits of worlds into train, validation and test, and the lock on the test split.

Training and tuning get worlds through scenarios, which call `check_split` or `world_seed`: these reject worlds and pairs of the test split
outside `unlock_test_split`. No room that trains or tunes may import this module (an import contract enforces this). The leaderboard unlocks
the split for the rollouts whose results it reports.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of

SPLITS = ("train", "validation", "test")
ALL = "all"
"""Not a split: everything that was measured, for boards of your own traces on which nothing is trained; locked like the test split."""
_TEST_IS_OPEN = ContextVar("test split is open", default=False)


@contextmanager
def unlock_test_split() -> Iterator[None]:
    """Allow sampling worlds of the test split within the context, in the current thread or task only."""
    token = _TEST_IS_OPEN.set(True)
    try:
        yield
    finally:
        _TEST_IS_OPEN.reset(token)


def check_split(split: str, splits: tuple[str, ...] = SPLITS) -> None:
    """Reject a split that is none of `splits`, and the test split and `ALL`, which has it, outside `unlock_test_split`.

    Raises:
        ValueError: the split is rejected; the message names the value and the allowed values.
    """
    one_of("split", split, splits)
    if split in ("test", ALL) and not _TEST_IS_OPEN.get():
        raise ValueError(f"split = {split!r}: allowed are train, validation; worlds of the test split are for the leaderboard alone")


def world_seed(split: str, seed: int, splits: tuple[str, ...] = SPLITS, kind: int = 0) -> tuple[int, np.random.Generator]:
    """Return the seed of a world and the random numbers to sample it with.

    Args:
        split: one of `splits`; the same seed in another split is another world.
        seed: any integer >= 0.
        splits: splits of the scenario, in the order of their random numbers.
        kind: number of the kind of world, where kinds share no random numbers.

    Raises:
        ValueError: an unknown split, or the test split outside the leaderboard.
    """
    check_split(split, splits)
    drawn = int(rng.stream_key(np.uint64(seed), len(splits) * kind + splits.index(split), rng.SCENARIO))
    return drawn, np.random.Generator(np.random.Philox(key=drawn))


def split_by_hash(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of each split: in order of their SHA-256, the first 60 % train, the next 20 % validation, the rest test."""
    ordered = sorted(set(names), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    bounds = [0, math.ceil(0.6 * len(ordered)), math.ceil(0.8 * len(ordered)), len(ordered)]
    return {split: sorted(ordered[bounds[i] : bounds[i + 1]]) for i, split in enumerate(SPLITS)}
