"""World generation alone: path-slots per second, and microseconds per slot for all paths together."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lab.bench.measure import Absent, Effort, Measurement, rate
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError
from vcgym.network.worlds.world import HISTORY_BLOCKS

WORLDS = 8
BLOCKS = 12
SCENARIOS = {"paper": "wonderproxy", "correlated": "wonderproxy", "replay": "leo"}


def generation(mode: str, effort: Effort) -> Iterator[Measurement | Absent]:
    """Measure two figures per number of threads in the same rounds: slots x paths per second, and microseconds per slot."""
    blocks = effort.part(BLOCKS)
    try:
        scenario = Scenario(SCENARIOS[mode], mode, blocks * BLOCK_SLOTS)
    except DataError as error:
        yield Absent(f"world_{mode}", str(error))
        return
    world = scenario.world(WORLDS)
    draws = [scenario.draw("train", seed) for seed in range(WORLDS)]
    slots = WORLDS * (HISTORY_BLOCKS + blocks) * BLOCK_SLOTS

    def draw_rows(rows: np.ndarray) -> None:
        for row in rows:
            world.start(int(row), draws[row])
        for _ in range(blocks - 1):
            world.fill(rows)

    with ThreadPoolExecutor(2) as pool:
        for threads in (1, 2):
            halves = np.array_split(np.arange(WORLDS), threads)
            run = (lambda rows=halves[0]: draw_rows(rows)) if threads == 1 else lambda parts=halves: list(pool.map(draw_rows, parts))
            found = rate(f"world_{mode}", "path-slots/s", slots * scenario.paths, run, effort, threads)
            yield found
            yield found._replace(name=f"world_{mode}_us_per_slot", value=1e6 * scenario.paths / found.value, unit="us/slot")
