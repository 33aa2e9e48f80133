"""Tune the parameters of rules on the training split: an agent must beat the best that a rule can do, not its published values.

Each system is tuned by random search (Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13, 2012) over all its
rules together, as an agent learns them together. A trial plays all training worlds of a `TuningTask`, the same in each trial. The sets of
values are drawn without regard to scores, so each set is judged alike on kinds left out. The published values are the first trial; the set
with the least regret over kinds is chosen, and judged on validation worlds of kinds left out of the choice
(`vcgym.leaderboard.tuning.regret`). Only a form that beats its published values there is a reference of boards of kinds on which it was
not tuned (`vcgym.leaderboard.evaluation.bars`). Test worlds are not used.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.sweeps.search import Domain, Values, parallel_map
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import TUNED, System
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.tuning.climb import around
from vcgym.leaderboard.tuning.regret import Judgement, chosen, judged, total_regret
from vcgym.leaderboard.tuning.tunable import as_data, short, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import Kinds
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

SEARCHED = "searched"
"""Folder of kept searches."""


class TuningTask(Protocol):
    """Worlds for tuning and their score; it is sent to other processes, so it is a NamedTuple of plain values."""

    @property
    def kinds(self) -> Kinds:
        """Kinds of its worlds."""

    @property
    def metric(self) -> str:
        """Metric of the objective; more is better."""

    def name(self, system: str) -> str:
        """Return the name of a system tuned here, without the ending."""

    def scores(self, system: Any, split: str) -> NDArray[np.float64]:
        """Return (kinds, worlds) the metric of each call of the training or validation split."""

    def of(self, group: str) -> Self:
        """Return the task of the kinds of one group alone."""

    def spent(self, trials: int) -> dict[str, Any]:
        """Return the cost of `trials` trials as JSON values."""


class Search(NamedTuple):
    """Search settings: number of trials (the published values are trial 0), and seed."""

    trials: int
    seed: int


class Outcome(NamedTuple):
    """System with the best values, and its study."""

    system: System
    study: dict[str, Any]


def tune_system(name: str, published: System, space: Mapping[str, Domain], task: TuningTask, how: Search, folder: Path) -> Outcome:
    """Search one system; Ray must be running (`vcgym.agents.sweeps.search.ray_running`).

    Args:
        name: name of the system.
        published: system with its published values.
        space: domain of each value.
        task: tuning task.
        how: settings of the search.
        folder: cache of the outcomes (`vcgym.leaderboard.cache`), so that a killed search resumes with the next system.
    """
    key = name, published, domains_as_data(space), task, how.trials, how.seed
    drawn, study = cached_document(folder / SEARCHED, key, lambda: _searched(name, published, space, task, how))
    return Outcome(with_values(published, drawn), study)


def _searched(
    name: str, published: System, space: Mapping[str, Domain], task: TuningTask, how: Search
) -> tuple[Values, dict[str, Any]]:  # fmt: skip
    """Return the values with the least regret (empty if the published ones have it) and the study."""
    before = values_of(published, space)
    drawn = [{}, *around(before, space, how.trials - 1, how.seed)]
    with progress(f"tuning {task.name(name)}: trials", len(drawn)) as on_progress:
        scores = np.array(parallel_map(_trial, [(published, task, values) for values in drawn], on_progress))
    best, regret = chosen(scores), total_regret(scores)
    values = drawn[best]
    left_out = judged(scores, task.kinds.groups, lambda number, group: _validated(published, task.of(group), drawn[number]))
    study = {
        "system": name,
        "objective": "root mean square over kinds of the regret in training worlds, in standard deviations of the kind's worlds",
        "search": "random, half near the published values, which are the first",
        "budget": _spent(task, how),
        "space": domains_as_data(space),
        "published": before,
        "tuned": {key: value if not isinstance(value, float) else short(value) for key, value in (values or before).items()},
        "train": {"regret_published": rounded(regret[0]), "regret_tuned": rounded(regret[best])},
        "validation": compared(task.metric, _validated(published, task, {}), _validated(published, task, values)),
        "left_out": judged_as_data(left_out, task),
    }
    return values, study


def _trial(published: System, task: TuningTask, values: Values) -> NDArray[np.float64]:
    return task.scores(with_values(published, values), "train")


def _validated(published: System, task: TuningTask, values: Values) -> NDArray[np.float64]:
    return task.scores(with_values(published, values), "validation")


def judged_as_data(found: Judgement, task: TuningTask) -> dict[str, Any]:
    """Return the gain over the published values on kinds left out of the choice."""
    return {
        task.metric: {
            kind: {"difference": rounded(difference), "half_width": rounded(half)}
            for kind, difference, half in zip(task.kinds.names, found.differences, found.halves, strict=True)
        },
        "gain": rounded(float(found.gains.mean())),
        "low": rounded(found.low),
        "high": rounded(found.high),
        "beats_published": found.beats,
    }


def compared(metric: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, Any]:
    """Return means, and the mean of the paired difference with twice its standard error."""
    change = (after - before).ravel()
    error = 2.0 * change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
    means = {f"{metric}_published": before.mean(), f"{metric}_tuned": after.mean()}
    found = {**means, "difference": change.mean(), "two_standard_errors": error}
    return {key: rounded(value) for key, value in found.items()}


def rounded(value: float) -> float:
    return round(float(value), 3) if abs(value) >= 1.0 else float(f"{value:.3g}")


def domains_as_data(space: Mapping[str, Domain]) -> dict[str, Any]:
    return {key: domain.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for key, domain in space.items()}


def _spent(task: TuningTask, how: Search) -> dict[str, Any]:
    return {"trials": how.trials, **task.spent(how.trials), "seed": how.seed}


def save(tuned: Outcome, task: TuningTask, folder: Path) -> None:
    """Write a file of data/tuned (`vcgym.baselines.system_files.Tuned`), without a system if the published values have the least regret."""
    study, budget = tuned.study, tuned.study["budget"]
    body = {"study": study, "system": as_data(tuned.system) if study["tuned"] != study["published"] else None}
    source = f"{budget['trials']} trials of {budget['worlds']} worlds of the training split of each of {len(budget['kinds'])} kinds"
    description = f"{study['system']} tuned on the training split: its study and the rules with the values found"
    write_study(folder / f"{task.name(study['system'])}{TUNED}.json", description, source, body)


def write_study(path: Path, description: str, source: str, body: dict[str, Any]) -> None:
    """Write a file of a tuning study with its card."""
    card = {
        "name": path.stem,
        "description": description,
        "source": f"vcgym tune: {source}",
        "licence": "MIT",
        "sha256": canonical_sha256(body),
        "kind": "fitted",
        "units": "those of the parameters' names",
    }
    replace_file(path, (json.dumps({"card": card, **body}, indent=1) + "\n").encode())
