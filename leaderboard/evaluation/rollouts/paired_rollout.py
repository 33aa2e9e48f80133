"""Several systems on the same worlds, each world drawn once: a block is filled, every system plays it, the next block is filled."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import SPLITS, unlock_test_split
from vcgym.network.worlds.world import WorldDraw


def batches_together(scenario: Scenario, pairs: Sequence[tuple[Any, ...]], sessions: int, log: bool = False) -> list[CallBatch]:
    """Return one batch of calls for each pair of rules (router, receiver, and whatever else stands behind them), all on one world."""
    world = scenario.world(sessions)
    return [CallBatch(scenario, sessions, router, receiver, log=log, world=world) for router, receiver, *_ in pairs]


@unlock_test_split()
def every_pair(scenario: Scenario, seeds: int, min_seeds: int = 1) -> list[WorldDraw]:
    """Worlds of each pair of a scenario, whatever the split: for claims about a whole scenario, with nothing trained.

    Args:
        scenario: to draw from.
        seeds: worlds per pair.
        min_seeds: more per pair where there would be fewer worlds in all.
    """
    pairs = [(split, index, pair) for split in SPLITS for index, pair in enumerate(scenario.pairs(split))]
    seeds = max(seeds, -(-min_seeds // len(pairs)))
    return [scenario.draw(split, index * seeds + n, pair) for split, index, pair in pairs for n in range(seeds)]


def play_together(batches: Sequence[CallBatch], draws: Sequence[WorldDraw], threads: int = 1) -> NDArray[np.float64]:
    """Play each batch, made by `batches_together`, on each drawn world to its end; what it gives equals `CallBatch.play` of each alone.

    Args:
        batches: of rules alone, so that nothing but the world is waited for.
        draws: one world per row.
        threads: how many threads share the rows; a thread takes its rows through all batches.

    Returns:
        (batches,) seconds that each batch was played, threads added up, without compiling it and without the world.
    """
    world = batches[0].world
    for row, draw in enumerate(draws):
        history = world.start(row, draw)
        for batch in batches:
            batch.start(row, draw, history)
    for batch in batches:
        batch.play_loaded(np.zeros(0, np.int64))  # compiles

    def play_rows(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        took_s = np.zeros(len(batches))
        while True:
            for index, batch in enumerate(batches):
                began = time.perf_counter()
                waiting = batch.play_loaded(rows)  # the same rows in every batch: calls are equally long
                took_s[index] += time.perf_counter() - began
            if not len(waiting):
                return took_s
            world.fill(waiting)
            for batch in batches:
                batch.calls["block"][waiting] += 1

    if threads == 1:
        return play_rows(np.arange(len(draws)))
    with ThreadPoolExecutor(threads) as pool:
        return np.sum(list(pool.map(play_rows, np.array_split(np.arange(len(draws)), threads))), axis=0)
