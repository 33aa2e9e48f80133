"""The tuned forms on the pages, from data/tuned and data/bars.json: ``python -m lab.shipped.tuned``.

The table of `lab/notes/tuning.md` has every study; `docs/rules.md` names the forms that are references everywhere, and the rule for unknown
paths. ``python -m lab.shipped.tuned NAME ...``, or ``all``, judges forms first, on kinds of worlds that they were not tuned on, and writes
data/tuned anew. A form that was searched over several groups of kinds is judged by the search itself. One that was searched on a single
scenario plays validation worlds of all other kinds of `vcgym tune`, next to its published values: a sender those of `rate`, by the metric
of its own suite; a pair those of its mode and measured ones. Measured kinds need the variable VCGYM_DATA.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from lab.shipped.board import HOME, write_block
from vcgym.baselines.system_files import read_tuned, tuned_names
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.bars import beats_elsewhere, load_bars
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.tuning.regret import gains
from vcgym.leaderboard.tuning.tunable import with_values
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import TuneConfig
from vcgym.leaderboard.tuning.tune_pairs import pair_judge, receiver_name, router_name
from vcgym.leaderboard.tuning.tuning import judged_as_data
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file


def judge(names: Iterable[str]) -> None:
    """Judge each form that was tuned on a single scenario and write its file."""
    config = TuneConfig()
    for name in names:
        study = dict(read_tuned(name).study)
        if "kinds" in study["budget"]:
            continue
        published, task = published_of(study, config), judge_of(study, config)
        tuned = with_values(published, study["tuned"])
        found = gains(task.scores(published, "validation"), task.scores(tuned, "validation"))
        study["left_out"] = judged_as_data(found, task)
        body = {"study": study, "system": read_tuned(name).system}
        card = read_tuned(name).card.model_dump(mode="json", exclude_none=True) | {"sha256": canonical_sha256(body)}
        replace_file(HOME / "data" / "tuned" / f"{name}.json", (json.dumps({"card": card, **body}, indent=1) + "\n").encode())
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


def _table() -> str:
    rows = []
    for name in tuned_names():
        found = read_tuned(name).study["left_out"]
        by_kind = next(values for key, values in found.items() if isinstance(values, dict))
        worst = min(by_kind, key=lambda kind: float(by_kind[kind]["difference"]))
        gain = f"{found['gain']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
        rows.append([name, gain, f"{worst} {by_kind[worst]['difference']:+.2f}", "yes" if found["beats_published"] else "no"])
    return markdown_table(("form", "gain on kinds left out", "worst kind", "beats"), rows, ("form", "worst kind", "beats"))


def _sentences() -> str:
    beating = [name for name in tuned_names() if beats_elsewhere(name)]
    any_kind = load_bars().any_kind
    changed = {group: system for group, system in any_kind.left_out.items() if system != any_kind.system}
    same = ", ".join(f"it is `{system}` without {group}" for group, system in changed.items()) or "the same rule is chosen"
    names, others = ", ".join(f"`{name}`" for name in beating), len(tuned_names()) - len(beating)
    return (
        f"References everywhere: {names}. The other {others} forms are not shown to beat their published constants elsewhere. "
        f"The rule for unknown paths is `{any_kind.system}`; with a group of kinds left out {same}.\n"
    )


def main() -> None:
    """Judge the named forms, then write the pages."""
    if sys.argv[1:]:
        judge(tuned_names() if sys.argv[1:] == ["all"] else sys.argv[1:])
    write_block(HOME / "lab/notes/tuning.md", "tuned", _table())
    write_block(HOME / "docs/rules.md", "tuned", _sentences())


if __name__ == "__main__":
    main()
