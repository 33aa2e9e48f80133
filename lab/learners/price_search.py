"""Search on the true score: CMA-ES (Hansen 2016, arXiv 1604.00772) over the numbers of a rule, such as a router's prices, on whole calls
or conferences in the compiled loop.

A generation plays every candidate on one chunk of the calls; generations take the chunks in turn, which avoids overfitting to one chunk.
The fitness is the mean arcsinh of each call's gain over the initial prices: linear below one point of R, logarithmic above. Otherwise the
kinds of worlds whose calls differ by tens of points would dominate. The gains of each generation are a line of a file; a resumed search
replays them and continues.
"""

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

import cma
import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from vcgym.agents.controllers.learned_router import LearnedRouter
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain, replace_file

Prices = NDArray[np.float64]
MAX_TOLD_BYTES = 1 << 26


class Scored(Protocol):
    """Evaluator of rules on chunks of worlds."""

    def __len__(self) -> int:
        """Return the number of chunks."""

    def scores(self, rules: Sequence[Any], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each rule, the score of each world of a chunk, in points of R."""


def evolve(
    start: Prices,
    scale: Prices,
    rule_of: Callable[[Prices], Any],
    score: Callable[[int, list[Any]], Sequence[float]],
    trials: int,
    population: int,
    step: float,
    seed: int,
    on_generation: Callable[[int, float, Prices], None] = lambda trials, best, mean: None,
) -> Prices:
    """Return the mean of the last generation of a search.

    Args:
        start: initial numbers.
        scale: natural step of each number; 0 keeps it constant.
        rule_of: returns the rule of given numbers.
        score: returns the score of each rule of a generation, counted from 0; larger is better.
        trials: total number of candidates.
        population: candidates per generation.
        step: initial standard deviation, in units of `scale`.
        seed: seed of the search.
        on_generation: called with the number of trials, the best score of the generation, and the mean of the search.
    """
    draws = np.random.default_rng(seed)
    options = {"randn": lambda *shape: draws.standard_normal(shape), "seed": np.nan, "verbose": -9, "popsize": population}
    moved = np.flatnonzero(scale)
    search = cma.CMAEvolutionStrategy(np.zeros(moved.size), step, options)

    def numbers(steps: Prices) -> Prices:
        found = start.copy()
        found[moved] += scale[moved] * steps
        return found

    for generation in range(-(-trials // population)):
        asked = search.ask()
        scores = score(generation, [rule_of(numbers(one)) for one in asked])
        search.tell(asked, [-one for one in scores])
        on_generation((generation + 1) * population, max(scores), numbers(search.mean))
    return numbers(search.mean)


def search_prices(
    start: Prices,
    scale: Prices,
    candidates: Scored,
    trials: int,
    population: int,
    step: float,
    seed: int,
    told: Path,
    on_generation: Callable[[int, float, Prices], None] = lambda trials, gain, mean: None,
    rule_of: Callable[[Prices], Any] = LearnedRouter,
) -> Prices:
    """Return the mean of the last generation of a search (`evolve`) by the gain over `start`.

    Each generation plays the next chunk of `candidates`. The gains of all generations so far are kept in the file `told`.

    Raises:
        DataError: the file has other content.
    """
    known = _told(told, population)

    @functools.cache
    def first(chunk: int) -> Prices:
        return candidates.scores([rule_of(start)], chunk)[0]

    def gains(generation: int, rules: list[Any]) -> list[float]:
        if generation == len(known):
            chunk = generation % len(candidates)
            known.append([float(np.arcsinh(r - first(chunk)).mean()) for r in candidates.scores(rules, chunk)])
            replace_file(told, "".join(f"{json.dumps(one)}\n" for one in known).encode())
        return known[generation]

    return evolve(start, scale, rule_of, gains, trials, population, step, seed, on_generation)


def _told(file: Path, population: int) -> list[list[float]]:
    """Return the gains in a file, generation by generation, without an incomplete last line."""
    content = read_plain(file, MAX_TOLD_BYTES) if file.exists() else b""
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    return [_gains(file, number, line, population) for number, line in enumerate(lines, 1)]


def _gains(file: Path, number: int, line: bytes, population: int) -> list[float]:
    try:
        return TypeAdapter(Annotated[list[float], Field(min_length=population, max_length=population)]).validate_json(line)
    except ValidationError as error:
        raise DataError(file, f"line {number}", line[:80], f"{population} gains; delete the file to search again") from error
