"""Play every tuned system on the validation worlds of suites and write data/bars.json: ``python -m lab.shipped.bars [suites]``.

Suites that are not named keep their means, of the forms that are systems still. `any-kind` among the names, or no name, chooses the rule
for unknown paths anew: of the rules over paths that were tuned, as tuned and as published, the one with the least regret over the kinds
of `leaderboard/tuning/tune_config.py`. Measured worlds need the environment variable VCGYM_DATA.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.baselines.controls.control import PATHS
from vcgym.baselines.system_files import system_names, tuned_names
from vcgym.baselines.systems import load_study, load_systems, tuning_trials
from vcgym.leaderboard.evaluation.bars import FILE, beats_elsewhere, load_bars
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, SUITES, Suite
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.board import board_name
from vcgym.leaderboard.statistics.paired import pair_worlds, sample
from vcgym.leaderboard.tuning.regret import chosen, chosen_without, total_regret
from vcgym.leaderboard.tuning.tune_config import TuneConfig
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.tune import call_task

FOLDER = Path("outputs/bars")
ANY_KIND = "any-kind"
SYNTHETIC, JUDGED_SYNTHETIC = "synthetic-", "synthetic-9"
"""Scenarios of one recipe with other numbers of paths, and the one on which forms are judged."""


def main() -> None:
    """Play the tuned systems, choose the bars and write the file."""
    before, asked = load_bars(), sys.argv[1:] or [*SUITES, ANY_KIND]
    metric, validation, any_kind = dict(before.metric), _of_systems(before.validation), before.any_kind._asdict()
    if ANY_KIND in asked:
        any_kind = of_any_kind()
        print(ANY_KIND, any_kind["system"], any_kind["left_out"], flush=True)
    for key in asked:
        if key == ANY_KIND:
            continue
        suite = SUITES[key]
        name = f"{suite.name}-{suite.version}"
        metric[name], validation[name] = suite.columns.ranked_by, _means(suite)
        print(name, body_of(metric, validation, any_kind)["bars"][name], flush=True)
    body = body_of(metric, validation, any_kind)
    card = {
        "name": "bars",
        "description": "The tuned system that each board compares with, the means that chose it, and the rule for unknown paths",
        "source": "simulated worlds of the validation split of each suite, made by python -m lab.shipped.bars",
        "licence": "MIT",
        "sha256": canonical_sha256(body),
        "kind": "fitted",
        "units": "those of the metric that a suite ranks by",
    }
    replace_file(Path(__file__).resolve().parents[2] / "data" / FILE, (json.dumps({"card": card, **body}, indent=1) + "\n").encode())


def _means(suite: Suite) -> dict[str, dict[str, float]]:
    """Return per board the mean ranked metric of each tuned system over the validation worlds in which all have one."""
    tuned = [name for name in systems_of(suite) if tuning_trials(name)]
    if not tuned:
        return {}
    rows = play(*tuned, suite=validation_suite(suite), folder=FOLDER)
    boards = pa.array(map(board_name, rows["mode"].to_pylist(), rows["stratum"].to_pylist()))
    return {board: _of_board(rows.filter(pc.equal(boards, board)), suite.columns.ranked_by) for board in sorted(set(boards.to_pylist()))}


def _may_be_bar(name: str, worlds: set[tuple[str, str]]) -> bool:
    """Return True if a tuned system may be the reference of worlds, each a scenario and a mode (of senders, a kind).

    It beats its published constants on kinds left out of its tuning; or, of each of these worlds, was tuned on them or beats its published
    constants there.
    """
    if beats_elsewhere(name):
        return True
    study = load_study(name)
    budget = study["budget"]
    on_kinds = next(values for values in study["left_out"].values() if isinstance(values, dict))

    def is_known(scenario: str, mode: str) -> bool:
        is_home = "kinds" not in budget and scenario == budget["scenario"] and budget.get("mode", mode) == mode
        judged = JUDGED_SYNTHETIC if scenario.startswith(SYNTHETIC) else scenario
        found = on_kinds.get(f"{judged} {mode}")
        return is_home or (found is not None and found["difference"] > found["half_width"])

    return all(is_known(scenario, mode) for scenario, mode in worlds)


def _worlds_of(suite: str, board: str) -> set[tuple[str, str]]:
    """Return scenario and mode of the parts of a board, of senders scenario and kind."""
    every = next(one.parts for one in SUITES.values() if f"{one.name}-{one.version}" == suite)
    parts = [part for part in every if board_name(part.mode, part.stratum) == board]
    return {(part.scenario, str(part.stratum) if part.mode == BOTTLENECK else part.mode) for part in parts}


def _of_board(rows: pa.Table, metric: str) -> dict[str, float]:
    paired = pair_worlds(rows)
    means = sample(paired, metric).values.mean(axis=-1)
    return {name: round(float(mean), 4) for name, mean in zip(paired.systems, means, strict=True)}


def validation_suite(suite: Suite) -> Suite:
    """Return the suite with worlds sampled from the validation split."""
    return suite._replace(parts=tuple(part._replace(split="validation") for part in suite.parts))


def _of_systems(validation: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the means of those tuned forms that are systems."""
    names = set(system_names())
    return {
        suite: {board: {name: mean for name, mean in means.items() if name in names} for board, means in boards.items()}
        for suite, boards in validation.items()
    }


def of_any_kind() -> dict[str, Any]:
    """Return the rule for unknown paths, the regret of each rule, and what is chosen without each group of kinds."""
    task = call_task(TuneConfig())
    rules = {name: system for name, system in load_systems(_tuned_and_published()).items() if system.plays == PATHS}
    scores = np.array([task.scores(system, "validation") for system in rules.values()])
    regret, names = total_regret(scores), list(rules)
    return {
        "system": names[chosen(scores)],
        "regret": {names[number]: round(float(regret[number]), 4) for number in np.argsort(regret, kind="stable")},
        "left_out": {group: names[number] for group, number in chosen_without(scores, task.kinds.groups).items()},
    }


def _tuned_and_published() -> list[str]:
    """Return the names of the tuned systems, and of the published ones that were tuned."""
    tuned, before = set(tuned_names()), {load_study(name)["system"] for name in tuned_names()}
    return [name for name in system_names() if name in tuned | before]


def body_of(metric: dict[str, str], validation: dict[str, dict[str, dict[str, float]]], any_kind: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the file without its card; the best system of each board that may be its reference becomes the bar."""
    ordered = {
        suite: {board: dict(sorted(means.items(), key=lambda item: (-item[1], item[0]))) for board, means in boards.items()}
        for suite, boards in validation.items()
    }
    bars = {
        suite: {
            board: next((name for name in means if _may_be_bar(name, _worlds_of(suite, board))), "") for board, means in boards.items()
        }
        for suite, boards in ordered.items()
    }
    return {"metric": metric, "bars": bars, "validation": ordered, "any_kind": any_kind}


if __name__ == "__main__":
    main()
