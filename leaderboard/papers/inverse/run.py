"""Run the search and the ablation, and write the outcome; every trial is a file, so an interrupted search resumes."""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vcgym.agents.tracking.progress import OnProgress
from vcgym.leaderboard.papers.inverse.ablation import Ablation, ablate
from vcgym.leaderboard.papers.inverse.assumptions import DECLARED, Assumptions
from vcgym.leaderboard.papers.inverse.authors_log import compared
from vcgym.leaderboard.papers.inverse.page import document
from vcgym.leaderboard.papers.inverse.results import FILE, MIXED, OUT_OF_REACH, AblationRow, Best, Budget, Changes, Inverse, Value
from vcgym.leaderboard.papers.inverse.search import Try, climb, most_held, sample
from vcgym.leaderboard.papers.inverse.trial import Size, Trial, judged_statements, tried
from vcgym.leaderboard.papers.reproduce.config import ReproduceConfig
from vcgym.network.traces.cards import DATA_VARIABLE, canonical_sha256, data_root, parse_carded
from vcgym.network.traces.plain_file import replace_file

VERSION = 1  # of the declared family
ROUGH = Size(2, 4, 2000)
ALL = "all"
PAGE = "inverse.md"


def min_trials(config: ReproduceConfig) -> int:
    """Return the number of trials that a search makes at least: the defaults, single changes and samples."""
    return 1 + len(Assumptions().neighbours()) + len(config.search_seeds) * config.search_sample


def search(config: ReproduceConfig, on_progress: OnProgress) -> Path:
    """Search, explain every statement that does not hold under the defaults, and write FILE and PAGE in the folder of the config.

    Args:
        config: settings.
        on_progress: called with the number of finished trials and the next one.

    Returns:
        The path of the page.
    """
    trials: dict[Size, dict[Assumptions, Trial]] = {}

    def attempts(size: Size) -> Try:
        done = trials.setdefault(size, {})

        def attempt(assumed: Assumptions) -> Trial:
            if assumed not in done:
                on_progress(sum(map(len, trials.values())), f"{size.packets} packets: {assumed.changes}")
                done[assumed] = tried(assumed, size, config.folder / "search", config.threads)
            return done[assumed]

        return attempt

    full_size = Size(config.seeds, config.min_worlds, config.packets)
    rough, full = attempts(ROUGH), attempts(full_size)
    for assumed in (Assumptions(), *Assumptions().neighbours()):
        rough(assumed)
    climbs = []
    for seed in config.search_seeds:
        starts = [rough(assumed) for assumed in sample(seed, config.search_sample)]
        judged = frozenset(starts[0].rows)
        climbs.append((seed, full(climb(most_held(starts, judged).assumed, rough).assumed)))
    base = full(Assumptions())
    statements = judged_statements()
    failed = [one for one in statements if one.id not in base.held]
    rows = [row_of(ablate(one, dict(trials[ROUGH]), rough, full), base) for one in failed]
    best = [_best(ALL, seed, trial, tuple(trial.rows)) for seed, trial in climbs]
    for source in dict.fromkeys(one.source for one in statements):
        of = [one.id for one in statements if one.source == source]
        best.append(_best(source, None, full(most_held(list(trials[ROUGH].values()), frozenset(of)).assumed), of))
    joint = most_held([trial for _, trial in climbs], frozenset(base.rows))
    ever = frozenset().union(*(trial.held for of_size in trials.values() for trial in of_size.values()))
    log = compared(data_root()) if os.environ.get(DATA_VARIABLE) else None
    budget = Budget(
        version=VERSION, seeds=tuple(config.search_seeds), sample=config.search_sample, tried=len(trials[ROUGH]),
        confirmed=len(trials[full_size]), rough=tuple(ROUGH), full=tuple(full_size),
    )  # fmt: skip
    body = {
        "budget": budget.model_dump(mode="json"), "judged": [one.id for one in statements],
        "held": [one.id for one in statements if one.id in base.held], "never": [one.id for one in statements if one.id not in ever],
        "best": [one.model_dump(mode="json") for one in best],
        "values": {one.id: _value(joint, one.id).model_dump(mode="json") for one in statements},
        "ablation": [row.model_dump(mode="json") for row in rows], "authors_log": log.model_dump(mode="json") if log else None,
    }  # fmt: skip
    text = json.dumps({"card": _card(body), **body}, indent=1) + "\n"
    replace_file(config.folder / FILE, text.encode())
    replace_file(config.folder / PAGE, document(parse_carded(Inverse, FILE, text)).encode())
    return config.folder / PAGE


def row_of(found: Ablation, base: Trial) -> AblationRow:
    """Return the row of an ablation, beside the trial of the defaults."""
    name, trial = found.statement, found.trial or base
    return AblationRow(
        statement=name, changes=trial.assumed.changes, cause=cause_of(trial.assumed.changes), before=_value(base, name),
        after=_value(trial, name), singles=found.singles, gained=tuple(sorted(trial.held - base.held)),
        broken=tuple(sorted(base.held - trial.held)),
    )  # fmt: skip


def cause_of(changes: Changes) -> Any:
    """Return the common cause of the fields changed; see `AblationRow`."""
    causes = {DECLARED[name].cause for name in changes}
    return OUT_OF_REACH if not causes else causes.pop() if len(causes) == 1 else MIXED


def _best(source: str, seed: int | None, trial: Trial, of: Sequence[str]) -> Best:
    held = tuple(name for name in of if name in trial.held)
    return Best(source=source, seed=seed, changes=trial.assumed.changes, held=held, of=len(of))


def _value(trial: Trial, name: str) -> Value:
    row = trial.rows[name]
    return Value(**{end: None if math.isnan(row[end]) else float(f"{row[end]:.5g}") for end in ("ours", "low", "high")})


def _card(body: dict[str, Any]) -> dict[str, str]:
    return {
        "name": FILE.removesuffix(".json"),
        "description": "Assumptions under which the numbers of the VCRoute paper hold, together and one by one; with the budget",
        "source": "simulated worlds, made by vcgym-reproduce search=true",
        "licence": "MIT", "sha256": canonical_sha256(body), "kind": "synthesised",
        "units": "those of the statements in published_vcroute.json; shares from 0 to 1",
    }  # fmt: skip
