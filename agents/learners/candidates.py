"""Candidates of a search, all played on the same calls by threads of this process or by processes of a running Ray."""

import functools
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.learners.calls import Calls
from vcgym.agents.sweeps.search import each

_CHUNKS_KEPT = 8  # chunks cached in each Ray process, whose worlds are then sampled only once


class Candidates:
    """Evaluator of routers with a fixed receiver, on chunks of calls.

    Args:
        chunks: chunks of calls; a chunk may mix kinds of worlds.
        receiver: rule of the lag.
        threads: candidates played concurrently in this process; no effect on the result.
        on_ray: play the candidates in processes of the running Ray, which sample the same worlds; no effect on the result.
    """

    def __init__(self, chunks: Sequence[Sequence[Calls]], receiver: Any, threads: int = 1, on_ray: bool = False) -> None:
        self._chunks, self._receiver, self._threads = chunks, receiver, threads
        self._packed = [pickle.dumps([(calls.scenario, calls.draws) for calls in chunk]) for chunk in chunks] if on_ray else []

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._chunks)

    def scores(self, rules: Sequence[Any], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each router, R of the calls of a chunk."""
        if self._packed:
            return each(_play_packed, [(self._packed[chunk], router, self._receiver) for router in rules])
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda router: _play(self._chunks[chunk], router, self._receiver), rules))


def _play(chunk: Sequence[Calls], router: Any, receiver: Any) -> NDArray[np.float64]:
    return np.concatenate([calls.scores(router, receiver) for calls in chunk])


def _play_packed(packed: bytes, router: Any, receiver: Any) -> NDArray[np.float64]:
    return _play(_unpacked(packed), router, receiver)


@functools.lru_cache(_CHUNKS_KEPT)
def _unpacked(packed: bytes) -> list[Calls]:
    return [Calls(scenario, draws) for scenario, draws in pickle.loads(packed)]
