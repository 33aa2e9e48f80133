"""Tune the parameters of rules on the training split: what an agent has to beat is the best that a rule can do, not what was printed.

Each system, a pair of rules of a call or a sender, is searched at random (Bergstra and Bengio, Random search for hyper-parameter
optimization, JMLR 13, 2012), all its rules together, as an agent learns them together. A trial plays all training worlds of a `Ground`; the
objective is the mean over them of the ground's metric, of which more is better. The printed values are the first trial, so tuning never
makes a rule worse there. Validation worlds are played before and after, and decide nothing; test worlds are not touched.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import yaml
from numpy.typing import NDArray

from vcgym.agents.training.search import Domain, Values, search
from vcgym.baselines.systems import TUNED
from vcgym.leaderboard.results.files import replace_file
from vcgym.leaderboard.tuning.tunable import as_yaml, short, short_hash, values_of, with_values


class Ground(Protocol):
    """What systems are tuned on; it travels to other processes, so it is a NamedTuple of plain values."""

    @property
    def folder(self) -> str:
        """Of conf/, where systems of its kind stand."""

    @property
    def metric(self) -> str:
        """What is compared; more is better."""

    def name(self, system: str) -> str:
        """What a system is called that was tuned here, less the ending."""

    def scores(self, system: Any, split: str) -> NDArray[np.float64]:
        """(worlds,) the metric of each call of the training or validation split."""

    def spent(self, trials: int) -> dict[str, Any]:
        """What so many trials take, as JSON values."""


class Search(NamedTuple):
    """How one system is searched: so many sets of values, the printed ones among them; seed of the draws; how many trials at a time."""

    trials: int
    seed: int
    concurrent: int


class Tuned(NamedTuple):
    """The outcome: the system with the best values, and what its study says."""

    system: Any
    study: dict[str, Any]


def tune_system(name: str, printed: Any, space: Mapping[str, Domain], ground: Ground, how: Search) -> Tuned:
    """Search one system; Ray has to be running (`vcgym.agents.training.search.ray_running`).

    Args:
        name: of the system.
        printed: the system with its printed values.
        space: where each value is drawn.
        ground: what it is tuned on.
        how: what may be used.
    """
    found = search(partial(_trial, printed, ground), space, how.trials - 1, how.seed, how.concurrent)
    before = _trial(printed, ground, {})
    drawn, after = max(found, key=lambda trial: trial[1])
    system = with_values(printed, drawn) if after > before else printed
    validated = [ground.scores(chosen, "validation") for chosen in (printed, system)]
    values = {key: value if not isinstance(value, float) else short(value) for key, value in values_of(system, space).items()}
    study = {
        "system": name,
        "objective": f"mean {ground.metric} over training worlds",
        "search": "random, Ray Tune, the printed values first",
        "budget": _spent(ground, how),
        "space": _said(space),
        "printed": values_of(printed, space),
        "tuned": values,
        "hash": short_hash(system),
        "train": {f"{ground.metric}_printed": _rounded(before), f"{ground.metric}_tuned": _rounded(max(before, after))},
        "validation": _compared(ground.metric, *validated),
    }
    return Tuned(system, study)


def _trial(printed: Any, ground: Ground, values: Values) -> float:
    return float(ground.scores(with_values(printed, values), "train").mean())


def _compared(metric: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, Any]:
    """Means, and the mean of the paired difference with twice its standard error."""
    change = after - before
    error = 2.0 * change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
    found = {f"{metric}_printed": before.mean(), f"{metric}_tuned": after.mean(), "difference": change.mean(), "two_standard_errors": error}
    return {key: _rounded(value) for key, value in found.items()}


def _rounded(value: float) -> float:
    return round(float(value), 3) if abs(value) >= 1.0 else float(f"{value:.3g}")


def kept(name: str, space: Mapping[str, Domain], ground: Ground, how: Search, folder: Path) -> bool:
    """Whether `folder` has a study of this system, space and budget, so that a search that was killed goes on with the next system."""
    path = folder / "tuning" / f"{ground.name(name)}{TUNED}.yaml"
    if not path.is_file():
        return False
    study = yaml.safe_load(path.read_text(encoding="utf-8"))
    return bool(study["space"] == _said(space) and study["budget"] == _spent(ground, how))


def _said(space: Mapping[str, Domain]) -> dict[str, Any]:
    return {key: domain.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for key, domain in space.items()}


def _spent(ground: Ground, how: Search) -> dict[str, Any]:
    return {"trials": how.trials, **ground.spent(how.trials), "seed": how.seed}


def keep(tuned: Tuned, ground: Ground, folder: Path) -> None:
    """Write the study to folder/study, and the system beside it, as `ground.folder` says, if its values are not the printed ones."""
    name = f"{ground.name(tuned.study['system'])}{TUNED}"
    if tuned.study["tuned"] != tuned.study["printed"]:
        about = f"{tuned.study['system']} tuned on the training split: conf/tuning/{name}.yaml."
        replace_file(folder / ground.folder / f"{name}.yaml", as_yaml(tuned.system, about).encode())
    replace_file(folder / "tuning" / f"{name}.yaml", yaml.safe_dump(tuned.study, sort_keys=False).encode())
