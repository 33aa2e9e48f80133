"""Tune the parameters of rules on the training split: what an agent has to beat is the best that a rule can do, not what was printed.

Each pair of rules is searched at random (Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13, 2012), router and
receiver together, as an agent learns them together. A trial plays all training worlds; the objective is the mean over them of the
E-model's R. The printed values are the first trial, so tuning never makes a rule worse there. Validation worlds are played before and
after, and decide nothing; test worlds are not touched.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from vcgym.agents.search import Domain, Values, search
from vcgym.envs.batch import CallBatch
from vcgym.leaderboard.results import replace_file
from vcgym.leaderboard.rollout import RulePair
from vcgym.leaderboard.tunable import as_yaml, short, short_hash, values_of, with_values
from vcgym.network.quality import rating
from vcgym.network.scenario import Scenario
from vcgym.network.world import WorldDraw


class Budget(NamedTuple):
    """What a search of one pair of rules may use.

    Attributes:
        trials: sets of values, the printed ones among them.
        worlds: training worlds that each trial plays, with seeds from 0 and the pairs of the split in turn.
        validation_worlds: as many of the validation split.
        packets: length of the calls.
        scenario: where they are drawn, strata by their declared weights.
        mode: of the scenario.
        seed: of the draws of values.
    """

    trials: int
    worlds: int
    validation_worlds: int
    packets: int
    scenario: str
    mode: str
    seed: int


class Tuned(NamedTuple):
    """The outcome: the pair with the best values, and what its study says."""

    pair: RulePair
    study: dict[str, Any]


def tune_pair(name: str, printed: RulePair, space: Mapping[str, Domain], budget: Budget, concurrent: int) -> Tuned:
    """Search one pair of rules; Ray has to be running (`vcgym.agents.search.ray_running`).

    Args:
        name: of the system.
        printed: the pair with its printed values.
        space: where each value is drawn.
        budget: what may be used.
        concurrent: trials at a time.
    """
    found = search(partial(_trial, printed, budget), space, budget.trials - 1, budget.seed, concurrent)
    before = _trial(printed, budget, {})
    drawn, after = max(found, key=lambda trial: trial[1])
    improved = after > before
    pair = with_values(printed, drawn) if improved else printed
    r_before, r_after = (call_ratings(chosen, budget, "validation", budget.validation_worlds) for chosen in (printed, pair))
    values = {key: value if not isinstance(value, float) else short(value) for key, value in values_of(pair, space).items()}
    study = {
        "system": name,
        "objective": "mean R over training worlds",
        "search": "random, Ray Tune, the printed values first",
        "budget": _spent(budget),
        "space": _said(space),
        "printed": values_of(printed, space),
        "tuned": values,
        "hash": short_hash(pair),
        "train": {"r_printed": round(before, 3), "r_tuned": round(max(before, after), 3)},
        "validation": _compared(r_before, r_after),
    }
    return Tuned(pair, study)


def call_ratings(pair: RulePair, budget: Budget, split: str, worlds: int) -> NDArray[np.float64]:
    """(worlds,) R of each call that the pair plays; a call that played nothing has 0."""
    scenario, draws = _worlds(budget, split, worlds)
    batch = CallBatch(scenario, worlds, pair.router, pair.receiver)
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.play(np.arange(worlds))
    totals = batch.totals()
    ticks = totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed
    sounding = np.maximum(ticks, 1)
    return np.where(ticks > 0, rating(totals.offset_us_sum / sounding / 1000.0, totals.ticks_concealed / sounding), 0.0)


def _trial(printed: RulePair, budget: Budget, values: Values) -> float:
    return float(call_ratings(with_values(printed, values), budget, "train", budget.worlds).mean())


@lru_cache(maxsize=2)
def _worlds(budget: Budget, split: str, worlds: int) -> tuple[Scenario, list[WorldDraw]]:
    scenario = Scenario(budget.scenario, budget.mode, budget.packets)
    pairs = scenario.pairs(split)
    return scenario, [scenario.draw(split, seed, pairs[seed % len(pairs)]) for seed in range(worlds)]


def _compared(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, Any]:
    """Means, and the mean of the paired difference with twice its standard error."""
    change = after - before
    error = 2.0 * change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
    found = {"r_printed": before.mean(), "r_tuned": after.mean(), "difference": change.mean(), "two_standard_errors": error}
    return {key: round(float(value), 3) for key, value in found.items()}


def kept(name: str, space: Mapping[str, Domain], budget: Budget, folder: Path) -> bool:
    """Whether `folder` has a study of this system, space and budget, so that a search that was killed goes on with the next system."""
    path = folder / "study" / f"{name}-tuned.yaml"
    if not path.is_file():
        return False
    study = yaml.safe_load(path.read_text(encoding="utf-8"))
    return bool(study["space"] == _said(space) and study["budget"] == _spent(budget))


def _said(space: Mapping[str, Domain]) -> dict[str, Any]:
    return {key: domain.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for key, domain in space.items()}


def _spent(budget: Budget) -> dict[str, Any]:
    packets = budget.worlds * budget.packets
    return {**budget._asdict(), "packets_per_trial": packets, "packets_in_all": budget.trials * packets}


def keep(tuned: Tuned, folder: Path) -> None:
    """Write the study to folder/study, and the pair to folder/system if its values are not the printed ones."""
    name = f"{tuned.study['system']}-tuned"
    improved = tuned.study["tuned"] != tuned.study["printed"]
    if improved:
        about = f"{tuned.study['system']} tuned on the training split: conf/study/{name}.yaml."
        replace_file(folder / "system" / f"{name}.yaml", as_yaml(tuned.pair, about).encode())
    replace_file(folder / "study" / f"{name}.yaml", yaml.safe_dump(tuned.study, sort_keys=False).encode())
