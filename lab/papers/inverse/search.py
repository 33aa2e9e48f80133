"""Search for the assumptions under which most statements hold together: single changes, a genetic search, and a climb.

The genetic search begins with a scrambled Sobol sequence (Owen, Journal of Complexity 14, 1998) whose points change each field with
probability `CHANGED`, so that most points stay near the defaults, where causes can be read off. Each generation has as many children as the
sample: fields of two survivors, mixed at random, some redrawn; the best of parents and children survive (Baeck, Evolutionary Algorithms in
Theory and Practice, 1996, (mu + lambda) selection). The climb takes the fields in turn and keeps the best value; when a whole turn changes
nothing, it tries pairs of the changes that cost least alone. Of assumptions that hold equally many statements those with fewer changes are
better, so that a field that does not matter ends at its default. The length of the calls keeps its default in both, because longer calls
cost more.

Measured with version 1 of the family, 16 points and the seeds 0 to 3: statements that hold in larger trials at the end of a climb on rough
trials, 40 and 41 (seeds 0 and 1); of the genetic search alone, 40, 42, 43, 40; with a climb on larger trials, field by field, 48, 46, 46,
41; with pairs of changes, 48, 46, 46, 42. Seeds 1 and 2 have 45 of their 46 in common; no other seed found the 48.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import qmc

from lab.papers.inverse.assumptions import DECLARED, Assumptions
from lab.papers.inverse.trial import Trial

CHANGED = 0.2
REDRAWN = 0.08  # probability that a field of a child is drawn anew
GENERATIONS = 8
PAIRED = 12  # single changes of which the climb tries pairs

Try = Callable[[Assumptions], Trial]
"""Returns the trial of assumptions."""

_LENGTH = {"length": DECLARED["length"].values[0]}
_SINGLE = [(name, value) for name, known in DECLARED.items() if name not in _LENGTH for value in known.values]


def sample(seed: int, count: int) -> list[Assumptions]:
    """Return `count` assumptions, a power of two, of the sequence `seed`."""
    points = qmc.Sobol(len(DECLARED), scramble=True, rng=seed).random(count)
    return [Assumptions(**{**dict(zip(DECLARED, map(_value, DECLARED, point), strict=True)), **_LENGTH}) for point in points]


def _value(name: str, u: float) -> Any:
    default, *others = DECLARED[name].values
    return default if u >= CHANGED else others[int(u / CHANGED * len(others))]


def evolve(seed: int, count: int, attempt: Try) -> Trial:
    """Return the best trial of GENERATIONS generations of `count` assumptions, a power of two, that begin with the sample of `seed`."""
    draws = np.random.default_rng(seed)
    alive = [attempt(assumed) for assumed in dict.fromkeys(sample(seed, count))]
    for _ in range(GENERATIONS):
        children = [_child(draws, *_parents(draws, alive)) for _ in range(count)]
        everyone = {trial.assumed: trial for trial in (*alive, *map(attempt, children))}
        alive = sorted(everyone.values(), key=_rank)[:count]
    return alive[0]


def _parents(draws: np.random.Generator, alive: list[Trial]) -> list[Trial]:
    """Return two survivors; the only one twice."""
    return [alive[index] for index in draws.choice(len(alive), 2, replace=len(alive) == 1)]


def _child(draws: np.random.Generator, one: Trial, other: Trial) -> Assumptions:
    """Return each field of one or the other parent, some redrawn from their declared values."""
    fields = {name: getattr((one if draws.random() < 0.5 else other).assumed, name) for name in DECLARED}
    redrawn = {name: known.values[draws.integers(len(known.values))] for name, known in DECLARED.items() if draws.random() < REDRAWN}
    return Assumptions(**{**fields, **redrawn, **_LENGTH})


def climb(start: Assumptions, attempt: Try) -> Trial:
    """Return the trial that the climb from `start` ends in: nothing better is one change away, or two of those that cost least alone."""
    best = attempt(replace(start, **_LENGTH))
    while better := _one_better(best, attempt) or _two_better(best, attempt):
        best = better
    return best


def _one_better(best: Trial, attempt: Try) -> Trial | None:
    """Return the best trial after a turn through all fields, each from the best so far; None if no change is better."""
    start = best
    for name, value in _SINGLE:
        best = min(best, attempt(replace(best.assumed, **{name: value})), key=_rank)
    return None if best is start else best


def _two_better(best: Trial, attempt: Try) -> Trial | None:
    """Return the first trial that is better after two of the `PAIRED` least costly single changes; None if there is none."""
    changes = [(name, value) for name, value in _SINGLE if getattr(best.assumed, name) != value]
    closest = sorted(changes, key=lambda change: _rank(attempt(replace(best.assumed, **dict([change])))))[:PAIRED]
    pairs = (dict(pair) for pair in combinations(closest, 2))
    trials = (attempt(replace(best.assumed, **pair)) for pair in pairs if len(pair) == 2)
    return next((trial for trial in trials if _rank(trial) < _rank(best)), None)


def most_held(trials: Iterable[Trial], among: frozenset[str]) -> Trial:
    """Return the trial under which most of the statements `among` hold; of equals the one with fewest changes, then the first."""
    return min(trials, key=lambda trial: (-len(trial.held & among), len(trial.assumed.changes)))


def _rank(trial: Trial) -> tuple[int, int]:
    return -len(trial.held), len(trial.assumed.changes)
