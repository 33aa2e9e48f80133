"""Search for the assumptions under which most statements hold together: single changes, a sparse quasi-random sample, and a climb.

The sample is a scrambled Sobol sequence (Owen, Journal of Complexity 14, 1998) whose points change each field with probability `CHANGED`,
so that most points stay near the defaults, where causes can be read off. The climb takes the fields in turn and keeps the value under which
most statements hold, until a whole turn changes nothing. The length of the calls keeps its default there, because longer calls cost more.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from scipy.stats import qmc

from vcgym.leaderboard.papers.inverse.assumptions import DECLARED, Assumptions
from vcgym.leaderboard.papers.inverse.trial import Trial

CHANGED = 0.2

Try = Callable[[Assumptions], Trial]
"""Returns the trial of assumptions."""


def sample(seed: int, count: int) -> list[Assumptions]:
    """Return `count` assumptions, a power of two, of the sequence `seed`."""
    points = qmc.Sobol(len(DECLARED), scramble=True, rng=seed).random(count)
    return [Assumptions(**dict(zip(DECLARED, map(_value, DECLARED, point), strict=True))) for point in points]


def _value(name: str, u: float) -> Any:
    default, *others = DECLARED[name].values
    return default if u >= CHANGED else others[int(u / CHANGED * len(others))]


def climb(start: Assumptions, attempt: Try) -> Trial:
    """Return the trial that the climb from `start` ends in; of equally good values the first tried one is kept."""
    best, turned = attempt(replace(start, length=DECLARED["length"].values[0])), True
    climbed = [(name, value) for name, known in DECLARED.items() if name != "length" for value in known.values]
    while turned:
        turned = False
        for name, value in climbed:
            trial = attempt(replace(best.assumed, **{name: value}))
            if len(trial.held) > len(best.held):
                best, turned = trial, True
    return best


def most_held(trials: Iterable[Trial], among: frozenset[str]) -> Trial:
    """Return the trial under which most of the statements `among` hold; of equals the one with fewest changes, then the first."""
    return min(trials, key=lambda trial: (-len(trial.held & among), len(trial.assumed.changes)))
