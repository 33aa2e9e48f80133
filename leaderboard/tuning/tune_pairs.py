"""Tune all pairs of a router and a receiver, in rounds (after successive halving, Jamieson and Talwalkar, AISTATS 2016).

Routers and receivers interact weakly, so the first round searches each router with one receiver and each receiver with one router
(`climb.py`). The expected gain of a pair is the sum of the gains of its two rules, and the best pairs enter the next round. Each later
round searches both rules of the remaining pairs together, from the best values so far, on more worlds. All of this uses training worlds.
The remaining pairs are played on validation worlds, which choose the best; test worlds are not used.
"""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vcgym.agents.sweeps.search import Domain, Values, parallel_map
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import System
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.tuning.climb import climb
from vcgym.leaderboard.tuning.tunable import Spaces, space_of, start_of, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import CallTask
from vcgym.leaderboard.tuning.tuning import SEARCHED, domains_as_data


class Round(NamedTuple):
    """Round of the search: trials per candidate, training worlds per trial, and number of pairs that remain."""

    trials: int
    worlds: int
    left: int


class Candidate(NamedTuple):
    """System with published values, the domain of each value, and initial values."""

    published: System
    space: Mapping[str, Domain]
    starts: list[Values]


class FoundValues(NamedTuple):
    """Best values of a pair, their mean R over training worlds, the trials of all its rounds, and the worlds of the last round."""

    values: Values
    train: float
    trials: int
    worlds: int


class Rules(NamedTuple):
    """Rules to be paired, by their short names, and the system that provides the other rule in the first round."""

    routers: Mapping[str, Any]
    receivers: Mapping[str, Any]
    reference: System


class Studied(NamedTuple):
    """Outcome of all rounds.

    Attributes:
        alone: result of each router and receiver in the first round.
        expected: sum of the first-round gains of the rules of each pair, best first.
        pairs: searched pairs, best first; `published` has their published systems.
        validation: R of each validation world for the remaining pairs.
    """

    alone: dict[str, FoundValues]
    expected: dict[str, float]
    pairs: dict[str, FoundValues]
    published: dict[str, Candidate]
    validation: dict[str, list[float]]

    @property
    def best(self) -> str:
        """Pair with the best mean R over validation worlds."""
        return max(self.validation, key=lambda name: (np.mean(self.validation[name]), name))


def tune_pairs(
    rules: Rules, spaces: Spaces, known: Mapping[str, Any], task: CallTask, rounds: Sequence[Round], seed: int, folder: Path
) -> Studied:
    """Search all pairs; Ray must be running (`vcgym.agents.sweeps.search.ray_running`).

    Args:
        rules: rules to be paired.
        spaces: domains of the parameters of each class of rules.
        known: tuned rules by class; their values are tried in addition to the published ones.
        task: scenario, mode, length of calls and number of validation worlds; each round has its own number of training worlds.
        rounds: first a round of single rules, then rounds of pairs.
        seed: seed of the sampling.
        folder: cache of the searches (`vcgym.leaderboard.cache`), from which a killed command resumes.
    """
    first, *others = rounds
    alone = _search(_alone(rules, spaces, known), task, first, f"{seed} 0", folder)
    expected = {
        pair_name(router, receiver): alone[router].train + alone[receiver].train for router in rules.routers for receiver in rules.receivers
    }
    expected = dict(sorted(expected.items(), key=lambda item: -item[1]))
    left, found, published = list(expected)[: first.left], dict[str, FoundValues](), dict[str, Candidate]()
    for name in left:
        router, receiver = name.split("+")
        system = System(rules.routers[router], rules.receivers[receiver])
        published[name] = Candidate(system, space_of(system, spaces), [alone[router].values | alone[receiver].values])
    for number, one in enumerate(others, 1):
        starts = {name: published[name]._replace(starts=[found[name].values]) if name in found else published[name] for name in left}
        for name, searched in _search(starts, task, one, f"{seed} {number}", folder).items():
            found[name] = searched._replace(trials=searched.trials + (found[name].trials if name in found else first.trials))
        left = sorted(left, key=lambda name: -found[name].train)[: one.left]
    order = sorted(found, key=lambda name: (-found[name].worlds, -found[name].train))
    validated = {name: task.scores(with_values(published[name].published, found[name].values), "validation").tolist() for name in left}
    return Studied(alone, expected, {name: found[name] for name in order}, published, validated)


def _alone(rules: Rules, spaces: Spaces, known: Mapping[str, Any]) -> dict[str, Candidate]:
    """Return each router with the reference's receiver and each receiver with its router; only values of that rule are searched."""
    router, receiver = rules.reference.path, rules.reference.playout
    systems = [
        *((name, "path.", System(rule, receiver)) for name, rule in rules.routers.items()),
        *((name, "playout.", System(router, rule)) for name, rule in rules.receivers.items()),
    ]
    found = {}
    for name, of_rule, system in systems:
        space = {key: domain for key, domain in space_of(system, spaces).items() if key.startswith(of_rule)}
        start = {key: value for key, value in start_of(system, spaces, known).items() if key.startswith(of_rule)}
        found[name] = Candidate(system, space, [values_of(system, space), start])
    return found


def _search(candidates: Mapping[str, Candidate], task: CallTask, one: Round, seed: str, folder: Path) -> dict[str, FoundValues]:
    """Search each candidate in a process of Ray."""
    round_task = task._replace(worlds=one.worlds)
    calls = [(of_name, round_task, one.trials, zlib.crc32(f"{seed} {name}".encode()), folder) for name, of_name in candidates.items()]
    with progress(f"tuning on {one.worlds} worlds of {task.kinds.names[0]}: searches", len(calls)) as on_progress:
        found = parallel_map(search_candidate, calls, on_progress)
    return {name: FoundValues(values, best, one.trials, one.worlds) for name, (values, best) in zip(candidates, found, strict=True)}


def search_candidate(candidate: Candidate, task: CallTask, trials: int, seed: int, folder: Path) -> tuple[Values, float]:
    """Return the best values and their mean R over the task's training worlds, from the cache if available."""

    def score(values: Values) -> float:
        return float(task.scores(with_values(candidate.published, values), "train").mean())

    def search() -> list[Any]:
        return list(climb(score, candidate.space, candidate.starts, trials, seed))

    key = candidate.published, domains_as_data(candidate.space), candidate.starts, task, trials, seed
    values, best = cached_document(folder / SEARCHED, key, search)
    return values, best


def router_name(system: str) -> str:
    """Return the short name of a system's router, GRD of GRD-WM."""
    return system.partition("-")[0]


def receiver_name(system: str) -> str:
    """Return the short name of a system's receiver, EWMA of DRT-EWMA."""
    return system.partition("-")[2]


def pair_name(router: str, receiver: str) -> str:
    """Return the name of a pair, GRD+EWMA."""
    return f"{router}+{receiver}"
