"""Judge tuned forms on kinds of worlds that they were not tuned on: ``python -m lab.shipped.judge_tuned [names]`` writes data/tuned anew.

A form that was searched over several groups of kinds is judged by the search itself. One that was searched on a single scenario plays
validation worlds of all other kinds of `vcgym tune`, next to its published values: a sender those of `rate`, by the metric of its own
suite; a pair those of its mode and measured ones. Without names it judges all of these; measured kinds need the variable VCGYM_DATA.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vcgym.baselines.system_files import read_tuned, tuned_names
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.tuning.regret import gains
from vcgym.leaderboard.tuning.tunable import with_values
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import TuneConfig
from vcgym.leaderboard.tuning.tune_pairs import pair_judge, receiver_name, router_name
from vcgym.leaderboard.tuning.tuning import judged_as_data
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

TUNED = Path(__file__).resolve().parents[2] / "data" / "tuned"


def main() -> None:
    """Judge each form and write its file."""
    config = TuneConfig()
    for name in sys.argv[1:] or tuned_names():
        study = dict(read_tuned(name).study)
        if "kinds" in study["budget"]:
            continue
        published, task = published_of(study, config), judge_of(study, config)
        tuned = with_values(published, study["tuned"])
        found = gains(task.scores(published, "validation"), task.scores(tuned, "validation"))
        study["left_out"] = judged_as_data(found, task)
        body = {"study": study, "system": read_tuned(name).system}
        card = read_tuned(name).card.model_dump(mode="json", exclude_none=True) | {"sha256": canonical_sha256(body)}
        replace_file(TUNED / f"{name}.json", (json.dumps({"card": card, **body}, indent=1) + "\n").encode())
        print(name, study["left_out"], flush=True)


def published_of(study: Mapping[str, Any], config: TuneConfig) -> System:
    """Return the system of a study with its published values."""
    if "+" not in study["system"]:
        return load_system(study["system"])
    router, receiver = study["system"].split("+")
    routers = {router_name(name): name for name in config.pairs.routers}
    receivers = {receiver_name(name): name for name in config.pairs.receivers}
    return System(load_system(routers[router]).path, load_system(receivers[receiver]).playout)


def judge_of(study: Mapping[str, Any], config: TuneConfig) -> CallTask | SenderTask:
    """Return the task of the kinds that a form was not tuned on."""
    budget = study["budget"]
    if "mode" not in budget:
        every = config.sending.kinds["rate"].items()
        others = {group: [kind for kind in kinds if kind.split()[0] != budget["scenario"]] for group, kinds in every}
        return SenderTask(config.sending.worlds, config.sending.validation_worlds, budget["scenario"], kinds_of(others))
    if "+" in study["system"]:
        return pair_judge(config, next(one for one in config.pairs.modes if one.mode == budget["mode"]))
    tuned_on = f"{budget['scenario']} {budget['mode']}"
    others = {group: [kind for kind in kinds if kind != tuned_on] for group, kinds in config.kinds.items()}
    return CallTask(config.worlds, config.validation_worlds, config.packets, kinds_of(others))


if __name__ == "__main__":
    main()
