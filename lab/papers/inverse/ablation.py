"""Cause by ablation: the fewest changed assumptions that make a statement hold that does not hold under a base, such as the defaults.

One change: all are tried. Two: pairs of the `CLOSEST` single changes that bring our value nearest to the printed one are tried, and every
pair that the search happened to try. More: every tried trial under which the statement holds, with each change that it does not need taken
back. Each is confirmed with more worlds and longer calls. Therefore "none" means: none of those tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from lab.papers.inverse.assumptions import DECLARED, Assumptions
from lab.papers.inverse.search import Try
from lab.papers.inverse.trial import Trial
from lab.papers.statements import Statement

CLOSEST = 4
CONFIRMED = 2  # candidates of one kind that are played again with more worlds


class Ablation(NamedTuple):
    """Fewest changes found for one statement, None if none was found; and the number of single changes that do it."""

    statement: str
    trial: Trial | None
    singles: int


def ablate(statement: Statement, base: Assumptions, trials: Mapping[Assumptions, Trial], attempt: Try, confirm: Try) -> Ablation:
    """Return the fewest changes of the base under which a statement holds.

    Args:
        statement: a statement that does not hold under the base.
        base: assumptions that changes are counted from.
        trials: trials of the search under which the changes of the base stay, the base and its neighbours among them.
        attempt: tries assumptions with few worlds.
        confirm: tries them with more worlds and longer calls.
    """
    holding = sorted((one for one in trials.values() if statement.id in one.held), key=lambda one: _damage(one, trials[base]))
    singles = [one for one in holding if len(differences(one.assumed, base)) == 1]
    for candidates in (singles, _pairs(statement, base, trials, attempt), _shrunk(statement.id, base, holding, attempt)):
        for _, candidate in zip(range(CONFIRMED), candidates, strict=False):
            confirmed = confirm(candidate.assumed)
            if statement.id in confirmed.held:
                return Ablation(statement.id, confirmed, len(singles))
    return Ablation(statement.id, None, len(singles))


def differences(assumed: Assumptions, base: Assumptions) -> dict[str, Any]:
    """Return the fields of assumptions that differ from those of the base, with their values."""
    return {name: getattr(assumed, name) for name in DECLARED if getattr(assumed, name) != getattr(base, name)}


def _damage(trial: Trial, base: Trial) -> tuple[int, int]:
    """Return number of changes and number of statements broken, to choose the mildest of the trials that do."""
    return len(differences(trial.assumed, base.assumed)), len(base.held - trial.held)


def _pairs(statement: Statement, base: Assumptions, trials: Mapping[Assumptions, Trial], attempt: Try) -> Iterator[Trial]:
    doubles = [one for one in trials.values() if statement.id in one.held and len(differences(one.assumed, base)) == 2]
    yield from sorted(doubles, key=lambda one: _damage(one, trials[base]))
    singles = sorted((one for one in trials.values() if len(differences(one.assumed, base)) == 1), key=lambda one: gap(statement, one))
    closest = [one for one in singles if gap(statement, one) < gap(statement, trials[base])][:CLOSEST]
    for one, other in combinations(closest, 2):
        if not differences(one.assumed, base).keys() & differences(other.assumed, base).keys():
            trial = attempt(replace(one.assumed, **differences(other.assumed, base)))
            if statement.id in trial.held:
                yield trial


def _shrunk(name: str, base: Assumptions, holding: Sequence[Trial], attempt: Try) -> Iterator[Trial]:
    """Yield trials of more than two changes without the changes that the statement does not need."""
    for start in holding:
        if len(differences(start.assumed, base)) > 2:
            trial = start
            for field in differences(start.assumed, base):
                less = attempt(replace(trial.assumed, **{field: getattr(base, field)}))
                trial = less if name in less.held else trial
            yield trial


def gap(statement: Statement, trial: Trial) -> float:
    """Return the distance of our value from the accepted range, in the unit of the measure; infinite without a value."""
    row = trial.rows[statement.id]
    ours = -row["ours"] if statement.rule == "lower" else row["ours"]
    low, high = statement.accepted or (0.0, float("inf"))
    distance = max(low - ours, ours - high, 0.0)
    return distance if distance == distance else float("inf")
