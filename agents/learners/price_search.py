"""Search on the true score: CMA-ES (Hansen 2016, arXiv 1604.00772) over the prices of a router, on whole calls in the compiled loop.

A generation plays every candidate on one chunk of the calls; generations take the chunks in turn, which avoids overfitting to one chunk.
The fitness is the mean arcsinh of each call's gain over the initial prices: linear below one point of R, logarithmic above. Otherwise the
kinds of worlds whose calls differ by tens of points would dominate. The gains of each generation are saved to a file, line by line; a
resumed search replays them and continues.
"""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import cma
import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_router import LearnedRouter
from vcgym.agents.learners.candidates import Candidates
from vcgym.network.traces.plain_file import replace_file

Prices = NDArray[np.float64]


def search_prices(
    start: Prices,
    scale: Prices,
    candidates: Candidates,
    trials: int,
    population: int,
    step: float,
    seed: int,
    told: Path,
    on_generation: Callable[[int, float, Prices], None] = lambda trials, gain, mean: None,
) -> Prices:
    """Return the mean of the last generation.

    Args:
        start: initial prices.
        scale: natural step of each price; 0 keeps a price constant.
        candidates: evaluator of routers; each generation uses its next chunk.
        trials: total number of candidates.
        population: candidates per generation.
        step: initial standard deviation, in units of `scale`.
        seed: seed of the search.
        told: file of the gains of all generations so far; created if missing.
        on_generation: called with the number of trials, the best mean gain of the generation, and the mean of the search.

    Raises:
        ValueError: the file has other content.
    """
    draws = np.random.default_rng(seed)
    options = {"randn": lambda *shape: draws.standard_normal(shape), "seed": np.nan, "verbose": -9, "popsize": population}
    moved = np.flatnonzero(scale)
    search = cma.CMAEvolutionStrategy(np.zeros(moved.size), step, options)
    known = _told(told, population)

    def prices(steps: Prices) -> Prices:
        found = start.copy()
        found[moved] += scale[moved] * steps
        return found

    @functools.cache
    def first(chunk: int) -> Prices:
        return candidates.scores([LearnedRouter(start)], chunk)[0]

    with told.open("a") as file:
        for generation in range(-(-trials // population)):
            asked, chunk = search.ask(), generation % len(candidates)
            if generation < len(known):
                gains = known[generation]
            else:
                scores = candidates.scores([LearnedRouter(prices(one)) for one in asked], chunk)
                gains = [float(np.arcsinh(r - first(chunk)).mean()) for r in scores]
                file.write(json.dumps(gains) + "\n")
                file.flush()
            search.tell(asked, [-gain for gain in gains])
            on_generation((generation + 1) * population, max(gains), prices(search.mean))
    return prices(search.mean)


def _told(file: Path, population: int) -> list[list[float]]:
    """Return the gains in a file, generation by generation, and remove an incomplete last line."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        replace_file(file, "".join(whole).encode())
    found = [json.loads(line) for line in whole]
    if wrong := [line for line in found if not isinstance(line, list) or len(line) != population]:
        raise ValueError(f"{file} has {wrong[0]!r:.80}; allowed are {population} gains a line")
    return found
