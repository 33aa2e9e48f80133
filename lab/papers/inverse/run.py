"""Run the search and the ablation, draw conclusions, and write the outcome; every trial is a file, so an interrupted search resumes."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.papers.inverse.ablation import Ablation, ablate, differences
from lab.papers.inverse.assumptions import DECLARED, Assumptions
from lab.papers.inverse.authors_log import compared
from lab.papers.inverse.page import document
from lab.papers.inverse.results import FILE, MIXED, OUT_OF_REACH, AblationRow, BestAssumptions, Budget, Changes, Inverse, ValueWithInterval
from lab.papers.inverse.search import GENERATIONS, Try, climb, evolve, most_held
from lab.papers.inverse.trial import Size, Trial, judged_statements, tried
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.statements import Statement
from lab.papers.vcroute.statements import LATE_LEARNS, load_statements
from vcgym.agents.tracking.progress import OnProgress
from vcgym.network.traces.cards import DATA_VARIABLE, canonical_sha256, data_root, parse_carded
from vcgym.network.traces.plain_file import replace_file

ROUGH = Size(2, 4, 2000)
ALL = "all"
PAGE = "inverse.md"

Trials = dict[Size, dict[Assumptions, Trial]]
"""All trials by size and assumptions."""


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
    trials: Trials = {}
    full_size = Size(config.seeds, config.min_worlds, config.packets)
    rough, full = (_attempts(size, trials, config, on_progress) for size in (ROUGH, full_size))
    climbs = {seed: climb(assumed, full) for seed, assumed in _explore(config, rough)}
    base, statements = full(Assumptions()), judged_statements()
    twice = {one.id.removesuffix(LATE_LEARNS) for one in load_statements() if one.id.endswith(LATE_LEARNS)}
    late = _explained(Assumptions(late_teaches=True), [one for one in statements if one.id in twice], rough, full, trials)
    ablations = _explained(Assumptions(), statements, rough, full, trials)
    names = tuple(one.id for one in statements)
    best = [best_of(ALL, seed, trial, names).model_copy(update={"without": _without(trial, full)}) for seed, trial in climbs.items()]
    for source in dict.fromkeys(one.source for one in statements):
        of = tuple(one.id for one in statements if one.source == source)
        best.append(best_of(source, None, most_held(trials[full_size].values(), frozenset(of)), of))
    joint = most_held(climbs.values(), frozenset(names))
    log = compared(data_root()) if os.environ.get(DATA_VARIABLE) else None
    budget = Budget(
        version=VERSION, seeds=config.search_seeds, sample=config.search_sample, generations=GENERATIONS, tried=len(trials[ROUGH]),
        late=sum(assumed.late_teaches for assumed in trials[ROUGH]), confirmed=len(trials[full_size]), rough=tuple(ROUGH),
        full=tuple(full_size),
    )  # fmt: skip
    body = {
        "budget": budget.model_dump(mode="json"), "judged": names, "held": [name for name in names if name in base.held],
        "never": never_held(names, (trial for of_size in trials.values() for trial in of_size.values())),
        "best": [one.model_dump(mode="json") for one in best],
        "values": {name: value_of(joint, name).model_dump(mode="json") for name in names},
        "ablation": [row.model_dump(mode="json") for row in ablations], "late": [row.model_dump(mode="json") for row in late],
        "authors_log": log.model_dump(mode="json") if log else None,
    }  # fmt: skip
    text = json.dumps({"card": card_of(body), **body}, indent=1) + "\n"
    replace_file(config.folder / FILE, text.encode())
    replace_file(config.folder / PAGE, document(parse_carded(Inverse, FILE, text)).encode())
    return config.folder / PAGE


def _attempts(size: Size, trials: Trials, config: ReproduceConfig, on_progress: OnProgress) -> Try:
    """Return the trial function of one size; it adds its trials to `trials`."""
    done = trials.setdefault(size, {})

    def attempt(assumed: Assumptions) -> Trial:
        if assumed not in done:
            on_progress(sum(map(len, trials.values())), f"{size.packets} packets: {assumed.changes}")
            done[assumed] = tried(assumed, size, config.folder / "search", config.threads)
        return done[assumed]

    return attempt


def _without(end: Trial, full: Try) -> dict[str, int]:
    """Return the number of statements that hold if one change alone is taken back, for each change of the end of a search."""
    default = Assumptions()
    return {name: len(full(replace(end.assumed, **{name: getattr(default, name)})).held) for name in end.assumed.changes}


def _explained(base: Assumptions, statements: Iterable[Statement], rough: Try, full: Try, trials: Trials) -> list[AblationRow]:
    """Return a row for each statement that does not hold under the base; only trials count under which the changes of the base stay."""
    for assumed in (base, *base.neighbours()):
        rough(assumed)
    start = full(base)
    tried_so_far = {assumed: trial for of_size in trials.values() for assumed, trial in of_size.items()}  # the full one of two
    like = {assumed: trial for assumed, trial in tried_so_far.items() if base.changes.items() <= assumed.changes.items()}
    return [row_of(ablate(one, base, like, rough, full), start) for one in statements if one.id not in start.held]


def _explore(config: ReproduceConfig, rough: Try) -> Iterable[tuple[int, Assumptions]]:
    """Try the defaults and every single change; yield each seed with the best assumptions of its genetic search."""
    for assumed in (Assumptions(), *Assumptions().neighbours()):
        rough(assumed)
    for seed in config.search_seeds:
        yield seed, evolve(seed, config.search_sample, rough).assumed


VERSION = 1
"""Version of the declared family; a changed field or value gives another one."""


def row_of(found: Ablation, base: Trial) -> AblationRow:
    """Return the row of an ablation, beside the trial of its base."""
    name, trial = found.statement, found.trial or base
    changes = differences(trial.assumed, base.assumed)
    return AblationRow(
        statement=name, changes=changes, cause=cause_of(changes), before=value_of(base, name),
        after=value_of(trial, name), singles=found.singles, gained=tuple(sorted(trial.held - base.held)),
        broken=tuple(sorted(base.held - trial.held)),
    )  # fmt: skip


def cause_of(changes: Changes) -> Any:
    """Return the common cause of the fields changed; see `AblationRow`."""
    causes = {DECLARED[name].cause for name in changes}
    return OUT_OF_REACH if not causes else causes.pop() if len(causes) == 1 else MIXED


def best_of(source: str, seed: int | None, trial: Trial, of: Sequence[str]) -> BestAssumptions:
    """Return what holds of the statements `of` in a trial; see `BestAssumptions`."""
    held = tuple(name for name in of if name in trial.held)
    return BestAssumptions(source=source, seed=seed, changes=trial.assumed.changes, held=held, of=len(of), without={})


def never_held(names: Iterable[str], trials: Iterable[Trial]) -> list[str]:
    """Return the statements that hold in none of the trials."""
    ever = frozenset().union(*(trial.held for trial in trials))
    return [name for name in names if name not in ever]


def value_of(trial: Trial, name: str) -> ValueWithInterval:
    """Return our value of a statement in a trial, to five digits."""
    row = trial.rows[name]
    return ValueWithInterval(**{end: None if math.isnan(row[end]) else float(f"{row[end]:.5g}") for end in ("ours", "low", "high")})


def card_of(body: dict[str, Any]) -> dict[str, str]:
    """Return the card of the file of everything else."""
    return {
        "name": FILE.removesuffix(".json"),
        "description": "Assumptions under which the numbers of the VCRoute paper hold, together and one by one; with the budget",
        "source": "simulated worlds, made by python -m lab reproduce search=true",
        "licence": "MIT", "sha256": canonical_sha256(body), "kind": "synthesised",
        "units": "those of the statements in published_vcroute.json; shares from 0 to 1",
    }  # fmt: skip
