"""Sessions of a batch cut once among threads, each of which plays its own as far as they go."""

import itertools
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTH_CUTTING_S = 1e-3  # several times what it takes to wake a thread and to hear from it


class Shares:
    """Contiguous shares of the sessions of a batch, one for each thread.

    Kernels release the GIL and sessions share nothing, so the cut cannot show in a result. The thread that asks works on the first share
    itself. Work that took less than `WORTH_CUTTING_S` the last time is not cut: waking threads would take longer.

    Args:
        sessions: how many there are, >= 1.
        threads: how many work at once, >= 1.
    """

    def __init__(self, sessions: int, threads: int) -> None:
        cuts = np.linspace(0, sessions, min(threads, sessions) + 1).astype(np.int64).tolist()
        self._bounds = list(itertools.pairwise(cuts))
        self._pool: ThreadPoolExecutor | None = None
        self._work_s = math.inf  # what the last work took, all threads together

    def each(self, work: Callable[[NDArray[np.int64]], Any], rows: NDArray[np.int64]) -> None:
        """Call `work` with those of `rows` that lie in a share, at least one, for all shares at once; return when all are done.

        Raises:
            Exception: what `work` raised first, in the order of the shares.
        """
        shares = [rows]
        if len(self._bounds) > 1 and self._work_s >= WORTH_CUTTING_S:
            shares = [rows[(rows >= begin) & (rows < end)] for begin, end in self._bounds]
        shares = [share for share in shares if len(share)]
        took_s = []

        def timed(share: NDArray[np.int64]) -> None:
            began = time.perf_counter()
            work(share)
            took_s.append(time.perf_counter() - began)

        if len(shares) < 2:
            for share in shares:
                timed(share)
        else:
            self._pool = self._pool or ThreadPoolExecutor(len(self._bounds) - 1)
            pending = [self._pool.submit(timed, share) for share in shares[1:]]
            try:
                timed(shares[0])
            finally:
                wait(pending)
            for one in pending:
                one.result()
        self._work_s = sum(took_s)
