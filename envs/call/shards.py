"""Distribution of a batch's sessions over threads; each thread plays its sessions as far as they go."""

import itertools
import math
import os
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTH_CUTTING_S = 1e-3  # several times the cost of waking and joining a thread


class Shards:
    """Contiguous shards of the sessions of a batch, one per thread.

    Kernels release the GIL and sessions share nothing, so results do not depend on the shards. The calling thread works on the first shard
    itself. Work that took less than `WORTH_CUTTING_S` the last time is not distributed, since waking threads would take longer.

    Args:
        sessions: number of sessions, >= 1.
        threads: number of threads, >= 1.
    """

    def __init__(self, sessions: int, threads: int) -> None:
        cuts = np.linspace(0, sessions, min(threads, sessions) + 1).astype(np.int64).tolist()
        self._bounds = list(itertools.pairwise(cuts))
        self._pool: ThreadPoolExecutor | None = None
        _ALL.add(self)
        self._work_s = math.inf  # duration of the last work, summed over threads

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the threads, which a copy or another process starts anew."""
        return vars(self) | {"_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _ALL.add(self)

    def each(self, work: Callable[[NDArray[np.int64]], Any], rows: NDArray[np.int64]) -> None:
        """Call `work` in parallel with the `rows` of each shard that has any; return when all calls are done.

        Raises:
            Exception: the first exception of `work`, in order of the shards.
        """
        shards = [rows]
        if len(self._bounds) > 1 and self._work_s >= WORTH_CUTTING_S:
            shards = [rows[(rows >= begin) & (rows < end)] for begin, end in self._bounds]
        shards = [shard for shard in shards if len(shard)]
        if len(shards) < 2:
            self._work_s = sum(_timed(work, shard) for shard in shards)
            return
        self._pool = self._pool or ThreadPoolExecutor(len(self._bounds) - 1)
        pending = [self._pool.submit(_timed, work, shard) for shard in shards[1:]]
        try:
            first_s = _timed(work, shards[0])
        finally:
            wait(pending)
        self._work_s = first_s + sum(one.result() for one in pending)


_ALL: "weakref.WeakSet[Shards]" = weakref.WeakSet()


def _forget_threads() -> None:
    """Forget the threads of the parent process, which a fork does not copy."""
    for shards in _ALL:
        shards._pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _timed(work: Callable[[NDArray[np.int64]], Any], shard: NDArray[np.int64]) -> float:
    """Call `work` and return the seconds it took."""
    began = time.perf_counter()
    work(shard)
    return time.perf_counter() - began
