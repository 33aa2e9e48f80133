"""Random values of parameters: half anywhere in the space, half near the published ones (`around`) or the best so far (`climb`).

A near trial changes a random subset of the values, each by a normal step. Numbers change on the scale of their domain, 0 to 1; the step
size of each trial is sampled log-uniformly from 0.01 to 0.5, so that no schedule is needed. A changed choice is sampled again.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vcgym.agents.sweeps.search import Domain, Values
from vcgym.leaderboard.tuning.tunable import short

_STEPS = (0.01, 0.5)
_NEAR = 0.5  # share of trials near the best so far


def climb(
    score: Callable[[Values], float], space: Mapping[str, Domain], starts: Sequence[Values], trials: int, seed: int
) -> tuple[Values, float]:
    """Score `trials` sets of values and return the best, the first one of equals, with its score; empty values if there are none.

    Args:
        score: objective; higher is better.
        space: domain of each value; if empty, only the starts are scored.
        starts: first trials.
        trials: number of sets, including the starts.
        seed: seed of the sampling.
    """
    draws = np.random.default_rng(seed)
    best, highest = dict[str, float | int](), -np.inf
    for trial in range(trials if space else min(trials, len(starts))):
        if trial < len(starts):
            values = dict(starts[trial])
        else:
            values = _near(best, space, draws) if draws.random() < _NEAR else _anywhere(space, draws)
        found = score(values)
        if found > highest:
            best, highest = values, found
    return best, highest


def around(published: Values, space: Mapping[str, Domain], count: int, seed: int) -> list[Values]:
    """Return `count` sets of values, in turn one near the published ones and one anywhere; none if the space is empty."""
    draws = np.random.default_rng(seed)
    return [_anywhere(space, draws) if number % 2 else _near(published, space, draws) for number in range(count if space else 0)]


def _anywhere(space: Mapping[str, Domain], draws: np.random.Generator) -> Values:
    return {name: value_at(domain, draws.random()) for name, domain in space.items()}


def _near(values: Values, space: Mapping[str, Domain], draws: np.random.Generator) -> Values:
    step = float(np.exp(draws.uniform(*np.log(_STEPS))))
    moved = draws.random(len(space)) < 0.5
    moved[draws.integers(len(space))] = True
    found = dict(values)
    for (name, domain), moves in zip(space.items(), moved, strict=True):
        if not moves:
            continue
        if domain.choices is not None or name not in values:
            found[name] = value_at(domain, draws.random())
        else:
            found[name] = value_at(domain, position(domain, values[name]) + step * draws.standard_normal())
    return found


def position(domain: Domain, value: float) -> float:
    """Return the position of a number in its domain, from 0 at `low` to 1 at `high`, not clipped."""
    if domain.log:
        return float(np.log(max(value, 1e-300) / domain.low) / np.log(domain.high / domain.low))
    return (value - domain.low) / (domain.high - domain.low)


def value_at(domain: Domain, position: float) -> float | int:
    """Return the value at a position of a domain; the position is clipped to 0..1, the value rounded to four significant digits."""
    position = min(max(position, 0.0), 1.0)
    if domain.choices is not None:
        return domain.choices[min(int(position * len(domain.choices)), len(domain.choices) - 1)]
    value = domain.low * (domain.high / domain.low) ** position if domain.log else domain.low + position * (domain.high - domain.low)
    return round(value) if domain.whole else short(value)
