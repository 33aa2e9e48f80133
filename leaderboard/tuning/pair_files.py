"""Files of tuned pairs: a table of all pairs of one scenario and mode, and a file of data/tuned for each remaining pair.

A pair is tuned for one kind of worlds, and judged on the other kinds of its mode and measured ones.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.baselines.systems import TUNED
from vcgym.leaderboard.tuning.regret import gains
from vcgym.leaderboard.tuning.tunable import as_data, values_of, with_values
from vcgym.leaderboard.tuning.tune_calls import CallTask
from vcgym.leaderboard.tuning.tune_pairs import FoundValues, Round, Studied
from vcgym.leaderboard.tuning.tuning import compared, domains_as_data, judged_as_data, rounded, write_study

_SOURCE = "worlds of the training split; the best of those left at the end is chosen on the validation split"


def save_pairs(studied: Studied, task: CallTask, judge: CallTask, rounds: Sequence[Round], seed: int, folder: Path) -> None:
    """Write the table of all pairs, and a file of data/tuned for each remaining pair, judged on the kinds of `judge`."""
    scenario, mode = task.kinds.names[0].split()
    study: dict[str, Any] = {
        "objective": f"mean {task.metric} over training worlds, each pair of the split in turn, strata by their weights",
        "search": "routers and receivers alone, then the best pairs together; half of the trials anywhere, half near the best",
        "budget": {
            "scenario": scenario,
            "mode": mode,
            "packets": task.packets,
            "rounds": [one._asdict() for one in rounds],
            "validation_worlds": task.validation_worlds,
            "seed": seed,
        },
    }
    description = f"all pairs of a router and a receiver, tuned on scenario {scenario}, mode {mode}"
    write_study(folder / f"pairs-{scenario}-{mode}.json", description, _SOURCE, {"study": study, **_table(studied)})
    for name in studied.validation:
        found, candidate = studied.pairs[name], studied.published[name]
        tuned = with_values(candidate.published, found.values)
        left_out = gains(judge.scores(candidate.published, "validation"), judge.scores(tuned, "validation"))
        of_pair = {
            "system": name,
            **study,
            "budget": {"trials": found.trials, "worlds": found.worlds, **study["budget"]},
            "space": domains_as_data(candidate.space),
            "published": values_of(candidate.published, candidate.space),
            "tuned": found.values,
            "train": {"r_tuned": rounded(found.train)},
            "validation": compared(task.metric, task.scores(candidate.published, "validation"), np.array([studied.validation[name]])),
            "left_out": judged_as_data(left_out, judge),
        }
        description = f"{name}, router and receiver tuned together: the study and the rules with the values found"
        body = {"study": of_pair, "system": as_data(tuned)}
        write_study(folder / f"{tuned_name(name, mode)}.json", description, _SOURCE, body)


def _table(studied: Studied) -> dict[str, Any]:
    """Return the results of each router and receiver alone, the expected gain of each pair, and the searched pairs."""
    validated = {name: {"validation": rounded(float(np.mean(worlds)))} for name, worlds in studied.validation.items()}
    return {
        "alone": {name: _as_data(found) for name, found in studied.alone.items()},
        "expected": {name: rounded(total) for name, total in studied.expected.items()},
        "pairs": {name: {**_as_data(found), **validated.get(name, {})} for name, found in studied.pairs.items()},
        "best": studied.best,
    }


def _as_data(found: FoundValues) -> dict[str, Any]:
    return {**found._asdict(), "train": rounded(found.train)}


def tuned_name(pair: str, mode: str) -> str:
    """Return the name of a tuned pair: the name of the pair, and the mode unless it is `correlated`."""
    return f"{pair}{'' if mode == 'correlated' else f'-{mode}'}{TUNED}"
