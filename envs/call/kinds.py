"""Calls over several kinds of worlds, played together: kinds may differ in the number of paths, so each has a batch of its own."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch, ThreadedBatch


class CallsOfKinds(ThreadedBatch):
    """Sessions that each play in the batch of one kind.

    Attributes:
        batches: batch of each kind, with a row for every session; they share `why` and `calls`, so rewards read one array of counters.
        kind: int64 (sessions,), number of the kind that a session plays; set it before a call is started.
        calls: (sessions,) of CallState.

    Args:
        batches: batch of each kind, with the same sessions, rules and length of the calls.
    """

    def __init__(self, batches: Sequence[CallBatch]) -> None:
        first = batches[0]
        super().__init__(first.sessions, first.threads)
        self.batches, self.calls, self.kind = tuple(batches), first.calls, np.zeros(first.sessions, np.int64)
        for batch in batches:
            batch.why, batch.calls = self.why, self.calls

    def numbered(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the number of each kind that some of `rows` play, and these rows."""
        of_rows = self.kind[rows]
        for number in range(len(self.batches)):
            mine = rows[of_rows == number]
            if len(mine):
                yield number, mine

    def advance(self, rows: NDArray[np.int64]) -> None:
        for number, mine in self.numbered(rows):
            self.batches[number].advance(mine)
