"""Conclusions from trials: rows of the ablation, the best assumptions of a source, statements that never hold, and the card."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from lab.papers.inverse.ablation import Ablation, differences
from lab.papers.inverse.assumptions import DECLARED
from lab.papers.inverse.results import FILE, MIXED, OUT_OF_REACH, AblationRow, Best, Changes, Value
from lab.papers.inverse.trial import Trial
from vcgym.network.traces.cards import canonical_sha256

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


def best_of(source: str, seed: int | None, trial: Trial, of: Sequence[str]) -> Best:
    """Return what holds of the statements `of` in a trial; see `Best`."""
    held = tuple(name for name in of if name in trial.held)
    return Best(source=source, seed=seed, changes=trial.assumed.changes, held=held, of=len(of), without={})


def never_held(names: Iterable[str], trials: Iterable[Trial]) -> list[str]:
    """Return the statements that hold in none of the trials."""
    ever = frozenset().union(*(trial.held for trial in trials))
    return [name for name in names if name not in ever]


def value_of(trial: Trial, name: str) -> Value:
    """Return our value of a statement in a trial, to five digits."""
    row = trial.rows[name]
    return Value(**{end: None if math.isnan(row[end]) else float(f"{row[end]:.5g}") for end in ("ours", "low", "high")})


def card_of(body: dict[str, Any]) -> dict[str, str]:
    """Return the card of the file of everything else."""
    return {
        "name": FILE.removesuffix(".json"),
        "description": "Assumptions under which the numbers of the VCRoute paper hold, together and one by one; with the budget",
        "source": "simulated worlds, made by python -m lab reproduce search=true",
        "licence": "MIT", "sha256": canonical_sha256(body), "kind": "synthesised",
        "units": "those of the statements in published_vcroute.json; shares from 0 to 1",
    }  # fmt: skip
