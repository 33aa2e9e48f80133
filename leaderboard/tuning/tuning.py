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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.sweeps.search import Domain, Values, parallel_map
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import TUNED, System
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.tuning.climb import around
from vcgym.leaderboard.tuning.regret import Judgement, chosen, judged, total_regret
from vcgym.leaderboard.tuning.tunable import as_data, short, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import TuningTask
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

SEARCHED = "searched"
"""Folder of kept searches."""


def tune_system(
    name: str, published: System, space: Mapping[str, Domain], task: TuningTask, trials: int, seed: int, folder: Path
) -> dict[str, Any]:  # fmt: skip
    """Search one system, write its file of data/tuned (`vcgym.baselines.system_files.Tuned`), and return its study.

    Ray must be running (`vcgym.agents.sweeps.search.ray_running`). The file has no system if the published values have the least regret.

    Args:
        name: name of the system.
        published: system with its published values.
        space: domain of each value.
        task: tuning task.
        trials: number of sets of values, of which the published ones are the first.
        seed: seed of the sampling.
        folder: folder of the file, with the cache of the studies (`vcgym.leaderboard.cache`), so that a killed search resumes with the next
            system.
    """
    key = name, published, domains_as_data(space), task, trials, seed
    study: dict[str, Any] = cached_document(folder / SEARCHED, key, lambda: _searched(name, published, space, task, trials, seed))
    tuned, budget = study["tuned"], study["budget"]
    body = {"study": study, "system": as_data(with_values(published, tuned)) if tuned != study["published"] else None}
    source = f"{budget['trials']} trials of {budget['worlds']} worlds of the training split of each of {len(budget['kinds'])} kinds"
    description = f"{name} tuned on the training split: its study and the rules with the values found"
    write_study(folder / f"{task.name(name)}{TUNED}.json", description, source, body)
    return study


def _searched(
    name: str, published: System, space: Mapping[str, Domain], task: TuningTask, trials: int, seed: int
) -> dict[str, Any]:  # fmt: skip
    """Return the study: its values are the published ones if these have the least regret."""
    before = values_of(published, space)
    drawn = [{}, *around(before, space, trials - 1, seed)]
    with progress(f"tuning {task.name(name)}: trials", len(drawn)) as on_progress:
        scores = np.array(parallel_map(_trial, [(published, task, values) for values in drawn], on_progress))
    best, regret = chosen(scores), total_regret(scores)
    left_out = judged(scores, task.kinds.groups, lambda number, group: _validated(published, task.of(group), drawn[number]))
    return {
        "system": name,
        "objective": "root mean square over kinds of the regret in training worlds, in standard deviations of the kind's worlds",
        "search": "random, half near the published values, which are the first",
        "budget": {"trials": trials, **task.spent(trials), "seed": seed},
        "space": domains_as_data(space),
        "published": before,
        "tuned": {key: value if not isinstance(value, float) else short(value) for key, value in (drawn[best] or before).items()},
        "train": {"regret_published": rounded(regret[0]), "regret_tuned": rounded(regret[best])},
        "validation": compared(task.metric, _validated(published, task, {}), _validated(published, task, drawn[best])),
        "left_out": judged_as_data(left_out, task),
    }


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
