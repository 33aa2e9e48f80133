"""Splits of worlds into train, validation and test, and the lock on test.

Whatever trains or tunes reaches worlds through `Scenario`, which asks `check_split`: worlds and pairs of the test split are refused unless
the caller stands inside `test_opened`. Only the leaderboard may import this module (an import contract says so), and it opens the split
for the rollouts whose results it reports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vcgym.network.kernels.ranges import one_of

SPLITS = ("train", "validation", "test")
_TEST_IS_OPEN = ContextVar("test split is open", default=False)


@contextmanager
def test_opened() -> Iterator[None]:
    """Within it, and in this thread or task alone, worlds of the test split may be drawn."""
    token = _TEST_IS_OPEN.set(True)
    try:
        yield
    finally:
        _TEST_IS_OPEN.reset(token)


def check_split(split: str) -> None:
    """Refuse an unknown split, and the test split outside `test_opened`.

    Raises:
        ValueError: naming the value and what is allowed.
    """
    one_of("split", split, SPLITS)
    if split == "test" and not _TEST_IS_OPEN.get():
        raise ValueError("split = 'test': allowed are train, validation; worlds of the test split are for the leaderboard alone")
