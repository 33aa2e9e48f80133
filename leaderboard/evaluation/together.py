"""Several systems on the same worlds, each sampled once: fill a block, let every system play it, fill the next block."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import SPLITS, unlock_test_split
from vcgym.network.worlds.world import WorldDraw


def batches_together(
    scenario: Scenario, systems: Sequence[Mapping[str, Any]], sessions: int, log: bool = False, location: str = "central", **others: Any
) -> list[CallBatch]:
    """Return one batch of calls per system, its rules by control, all sharing one world; `others` are arguments of `CallBatch`."""
    world = scenario.world(sessions)
    return [CallBatch(scenario, sessions, location=location, log=log, world=world, **rules, **others) for rules in systems]


@unlock_test_split()
def every_pair(scenario: Scenario, seeds: int, min_seeds: int = 1) -> list[WorldDraw]:
    """Sample worlds of every pair of a scenario, regardless of the split: for claims about a whole scenario, without training.

    Args:
        scenario: scenario to sample.
        seeds: worlds per pair.
        min_seeds: minimum total number of worlds; scenarios with few pairs get more worlds per pair.
    """
    pairs = [(split, index, pair) for split in SPLITS for index, pair in enumerate(scenario.pairs(split))]
    seeds = max(seeds, -(-min_seeds // len(pairs)))
    return [scenario.draw(split, index * seeds + n, pair) for split, index, pair in pairs for n in range(seeds)]


def play_together(batches: Sequence[CallBatch], draws: Sequence[WorldDraw], threads: int = 1) -> NDArray[np.float64]:
    """Play each batch of `batches_together` on each sampled world to the end; the result equals `CallBatch.play` of each batch alone.

    Args:
        batches: batches with rules only, which wait for nothing but the world.
        draws: one sampled world per row.
        threads: threads that share the rows; a thread plays its rows in all batches.

    Returns:
        (batches,) seconds per batch, summed over threads, without compilation and without sampling of the world.
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
                waiting = batch.play_loaded(rows)  # the same rows in every batch: calls have equal length
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
