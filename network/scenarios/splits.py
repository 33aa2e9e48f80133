"""Splits of worlds into train, validation and test, and the lock on the test split.

Training and tuning get worlds through `Scenario`, which calls `check_split`: it rejects worlds and pairs of the test split outside
`unlock_test_split`. Only the leaderboard may import this module (an import contract enforces this); it unlocks the split for the rollouts
whose results it reports.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vcgym.network.kernels.ranges import one_of

SPLITS = ("train", "validation", "test")
_TEST_IS_OPEN = ContextVar("test split is open", default=False)


@contextmanager
def unlock_test_split() -> Iterator[None]:
    """Allow sampling worlds of the test split within the context, in the current thread or task only."""
    token = _TEST_IS_OPEN.set(True)
    try:
        yield
    finally:
        _TEST_IS_OPEN.reset(token)


def check_split(split: str) -> None:
    """Reject an unknown split, and the test split outside `unlock_test_split`.

    Raises:
        ValueError: the split is rejected; the message names the value and the allowed values.
    """
    one_of("split", split, SPLITS)
    if split == "test" and not _TEST_IS_OPEN.get():
        raise ValueError("split = 'test': allowed are train, validation; worlds of the test split are for the leaderboard alone")


def split_by_hash(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of each split: in order of their SHA-256, the first 60 % train, the next 20 % validation, the rest test."""
    ordered = sorted(set(names), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    bounds = [0, math.ceil(0.6 * len(ordered)), math.ceil(0.8 * len(ordered)), len(ordered)]
    return {split: sorted(ordered[bounds[i] : bounds[i + 1]]) for i, split in enumerate(SPLITS)}
