"""Tune all pairs of a router and a receiver, in rounds (after successive halving, Jamieson and Talwalkar, AISTATS 2016).

Routers and receivers interact weakly, so the first round searches each router with one receiver and each receiver with one router
(`climb.py`). The expected gain of a pair is the sum of the gains of its two rules, and the best pairs enter the next round. Each later
round searches both rules of the remaining pairs together, from the best values so far, on more worlds. All of this uses training worlds.
The remaining pairs are played on validation worlds, which choose the best; test worlds are not used.

A pair is tuned for one kind of worlds, and judged on the other kinds of its mode and measured ones.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.sweeps.search import Domain, Values, parallel_map
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.configured import target
from vcgym.baselines.systems import TUNED, System, load_study, load_system
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.tuning.climb import climb
from vcgym.leaderboard.tuning.regret import gains
from vcgym.leaderboard.tuning.tunable import Spaces, as_data, space_of, start_of, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import CallTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import REPLAY, PairModeConfig, PairsConfig, RoundConfig, TuneConfig
from vcgym.leaderboard.tuning.tuning import SEARCHED, compared, domains_as_data, judged_as_data, rounded, write_study

_SOURCE = "worlds of the training split; the best of those left at the end is chosen on the validation split"


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

    def as_data(self) -> dict[str, Any]:
        """Return the entry of a rule or pair in the table of all pairs."""
        return {**self._asdict(), "train": rounded(self.train)}


class Pairs(NamedTuple):
    """Routers and receivers to be paired, by their short names."""

    routers: dict[str, Any]
    receivers: dict[str, Any]

    @classmethod
    def of(cls, config: PairsConfig) -> "Pairs":
        """Return the rules of the named systems."""
        return cls(
            {router_name(name): load_system(name).path for name in config.routers},
            {receiver_name(name): load_system(name).playout for name in config.receivers},
        )

    @property
    def systems(self) -> dict[str, System]:
        """Every pair with its published values, by names such as GRD+EWMA."""
        routers, receivers = self.routers.items(), self.receivers.items()
        return {f"{one}+{other}": System(router, receiver) for one, router in routers for other, receiver in receivers}


def tune_pairs(config: TuneConfig, one: PairModeConfig, spaces: Spaces) -> str:
    """Search all pairs in a mode, write their table and a file of data/tuned for each remaining pair, and return the best pair.

    Ray must be running (`vcgym.agents.sweeps.search.ray_running`). A killed command resumes from the cache of searches in `config.folder`.
    """
    pairs, task = Pairs.of(config.pairs), pair_task(config, one)
    first, *others = one.rounds
    alone = _search(_alone(pairs, config.pairs, one, spaces), task, first, f"{config.seed} 0", config.folder)
    expected = {name: sum(alone[rule].train for rule in name.split("+")) for name in pairs.systems}
    expected = dict(sorted(expected.items(), key=lambda item: -item[1]))
    left, found, published = list(expected)[: first.left], dict[str, FoundValues](), dict[str, Candidate]()
    for name in left:
        router, receiver = name.split("+")
        system = pairs.systems[name]
        published[name] = Candidate(system, space_of(system, spaces), [alone[router].values | alone[receiver].values])
    for number, each in enumerate(others, 1):
        starts = {name: published[name]._replace(starts=[found[name].values]) if name in found else published[name] for name in left}
        for name, now in _search(starts, task, each, f"{config.seed} {number}", config.folder).items():
            found[name] = now._replace(trials=now.trials + (found[name].trials if name in found else first.trials))
        left = sorted(left, key=lambda name: -found[name].train)[: each.left]
    order = sorted(found, key=lambda name: (-found[name].worlds, -found[name].train))
    validated = {name: task.scores(with_values(published[name].published, found[name].values), "validation") for name in left}
    means = {name: float(np.mean(worlds)) for name, worlds in validated.items()}
    best = max(means, key=lambda name: (means[name], name))
    study = _study(config, one, task)
    table = {
        "alone": {name: values.as_data() for name, values in alone.items()},
        "expected": {name: rounded(total) for name, total in expected.items()},
        "pairs": {name: found[name].as_data() | ({"validation": rounded(means[name])} if name in means else {}) for name in order},
        "best": best,
    }
    description = f"all pairs of a router and a receiver, tuned on scenario {config.pairs.scenario}, mode {one.mode}"
    write_study(config.folder / f"pairs-{config.pairs.scenario}-{one.mode}.json", description, _SOURCE, {"study": study, **table})
    for name in left:
        body = _judged(name, published[name], found[name], study, task, pair_judge(config, one), validated[name])
        description = f"{name}, router and receiver tuned together: the study and the rules with the values found"
        write_study(config.folder / f"{tuned_name(name, one.mode)}.json", description, _SOURCE, body)
    return best


def _judged(
    name: str, candidate: Candidate, found: FoundValues, study: dict[str, Any], task: CallTask, judge: CallTask,
    validated: NDArray[np.float64],
) -> dict[str, Any]:  # fmt: skip
    """Return the study and the system of a remaining pair, judged on the kinds of `judge`."""
    published, tuned = candidate.published, with_values(candidate.published, found.values)
    left_out = gains(judge.scores(published, "validation"), judge.scores(tuned, "validation"))
    of_pair = {
        "system": name,
        **study,
        "budget": {"trials": found.trials, "worlds": found.worlds, **study["budget"]},
        "space": domains_as_data(candidate.space),
        "published": values_of(published, candidate.space),
        "tuned": found.values,
        "train": {"r_tuned": rounded(found.train)},
        "validation": compared(task.metric, task.scores(published, "validation"), validated),
        "left_out": judged_as_data(left_out, judge),
    }
    return {"study": of_pair, "system": as_data(tuned)}


def pair_task(config: TuneConfig, one: PairModeConfig) -> CallTask:
    """Return the tuning task for pairs in a mode, with the worlds of the first round."""
    pairs = config.pairs
    groups = {pairs.scenario: [f"{pairs.scenario} {one.mode}"]}
    return CallTask(one.rounds[0].worlds, pairs.validation_worlds, pairs.packets, kinds_of(groups))


def pair_judge(config: TuneConfig, one: PairModeConfig) -> CallTask:
    """Return the task that judges pairs of a mode: the other kinds of this mode, and measured ones."""
    every = [kind for kinds in config.kinds.values() for kind in kinds if kind != f"{config.pairs.scenario} {one.mode}"]
    others = [kind for kind in every if kind.split()[1] in (one.mode, REPLAY)]
    return CallTask(config.worlds, config.validation_worlds, config.packets, kinds_of({one.mode: others}))


def _study(config: TuneConfig, one: PairModeConfig, task: CallTask) -> dict[str, Any]:
    return {
        "objective": f"mean {task.metric} over training worlds, each pair of the split in turn, strata by their weights",
        "search": "routers and receivers alone, then the best pairs together; half of the trials anywhere, half near the best",
        "budget": {
            "scenario": config.pairs.scenario,
            "mode": one.mode,
            "packets": task.packets,
            "rounds": [each.model_dump() for each in one.rounds],
            "validation_worlds": task.validation_worlds,
            "seed": config.seed,
        },
    }


def _alone(pairs: Pairs, config: PairsConfig, one: PairModeConfig, spaces: Spaces) -> dict[str, Candidate]:
    """Return each router with the reference's receiver and each receiver with its router; only values of that rule are searched."""
    router, receiver, known = load_system(one.router).path, load_system(one.receiver).playout, _known(config.starts)
    systems = [
        *((name, "path.", System(rule, receiver)) for name, rule in pairs.routers.items()),
        *((name, "playout.", System(router, rule)) for name, rule in pairs.receivers.items()),
    ]
    found = {}
    for name, of_rule, system in systems:
        space = {key: domain for key, domain in space_of(system, spaces).items() if key.startswith(of_rule)}
        start = {key: value for key, value in start_of(system, spaces, known).items() if key.startswith(of_rule)}
        found[name] = Candidate(system, space, [values_of(system, space), start])
    return found


def _known(names: list[str]) -> dict[str, Any]:
    """Return the rules of tuned systems by class; if two have the same class, the rule of the better system."""
    known: dict[str, Any] = {}
    for name in sorted(names, key=lambda name: -load_study(name)["validation"]["r_tuned"]):
        for rule in load_system(name).rules.values():
            known.setdefault(target(rule), rule)
    return known


def _search(candidates: Mapping[str, Candidate], task: CallTask, one: RoundConfig, seed: str, folder: Path) -> dict[str, FoundValues]:
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


def tuned_name(pair: str, mode: str) -> str:
    """Return the name of a tuned pair: the name of the pair, and the mode unless it is `correlated`."""
    return f"{pair}{'' if mode == 'correlated' else f'-{mode}'}{TUNED}"
