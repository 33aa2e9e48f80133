"""Small suites of training worlds, one for each control, and the score of a rule on one of them.

No world of validation or test is among them, so a rule that was searched here is ranked on worlds that no score has shown. A suite has the
kinds of worlds of the board of its control, but not mode paper of `default`: differences are ten times as large there, and would decide
alone. Other calls, as in `calls-v0`, would take a rate rule three times as long to compile.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.bars import bar_of
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, MEASURED, SUITES, Suite
from vcgym.leaderboard.play import play
from vcgym.leaderboard.statistics import Estimate, pair_worlds
from vcgym.leaderboard.statistics.paired import independent_calls
from vcgym.leaderboard.statistics.resampling import interval

_LEFT_OUT = (MEASURED, "5g-weak", "5g-weak replay")
"""Scenarios whose data do not ship, or whose training part is as short as one call, which shows no spread."""


class Task(NamedTuple):
    """Suite on which a rule is scored, and the system whose rule it replaces and with which it is compared."""

    suite: Suite
    reference: str


def _suite(control: str, board: str, share: int, *modes: str) -> Suite:
    """Return the suite of a control: training worlds of the kinds of a board without `_LEFT_OUT`.

    Args:
        control: the control.
        board: suite that names the kinds of worlds and of calls.
        share: of how many seeds of the board the suite has one; a seed is a world of each training pair, over a bottleneck one world.
        modes: modes whose kinds are taken.
    """
    parts = [part for part in SUITES[board].parts if part.mode in modes and part.scenario not in _LEFT_OUT]
    trained = (part._replace(split="train", seeds=-(-part.seeds // share), first_seed=1000 * n) for n, part in enumerate(parts))
    return Suite(f"score-{control}", "v0", SUITES[board].packets, tuple(trained), SUITES[board].kind)


def task_of(control: str) -> Task:
    """Return the task of a control.

    Raises:
        ValueError: there is none.
    """
    if control in (Control.PATH, Control.PLAYOUT):
        return Task(_suite(control, "default", 2, "correlated", "replay"), bar_of("default-v1", "correlated"))
    if control == Control.RATE:
        return Task(_suite(control, "rate-v0", 2, BOTTLENECK), bar_of("rate-v0", BOTTLENECK))
    if control == Control.ORDER:
        return Task(_suite(control, "order-v0", 4, BOTTLENECK), bar_of("order-v0", BOTTLENECK))
    if control == Control.PROTECTION:
        return Task(_suite(control, "protected-v0", 2, "losses in runs, 10 %"), "COPY-HELD")
    raise ValueError(f"the rule controls {control!r}; allowed: {', '.join(Control)}")


def difference(rule: pa.Table, reference: pa.Table, metric: str) -> tuple[Estimate, dict[str, float]]:
    """Return the mean over kinds of worlds of the paired differences of two systems with its 95 % interval, and the mean of each kind.

    Calls over measured time count as the number of independent calls among them (`vcgym.leaderboard.statistics.paired`). A call without a
    value, which played nothing, has 0.
    """
    both = pa.concat_tables([rule, reference])
    values = np.nan_to_num(both[metric].to_numpy(), nan=0.0)
    both = both.set_column(both.schema.get_field_index(metric), both.schema.field(metric), pa.array(values))
    names = rule["system"][0].as_py(), reference["system"][0].as_py()
    kinds, calls = dict[str, NDArray[np.float64]](), list[int]()
    for mode in both["mode"].unique().to_pylist():
        paired = pair_worlds(both.filter(pc.equal(both["mode"], mode))).of(*names)
        apart = np.subtract(*paired.results[metric].to_numpy()[paired.row])
        strata = np.array(paired.results["stratum"].to_pylist())[paired.row[0]]
        for stratum in dict.fromkeys(strata.tolist()):
            which = np.flatnonzero(strata == stratum)
            kinds[stratum] = apart[which]
            calls.append(math.floor(independent_calls(tuple(paired.measured[n] if paired.measured else () for n in which))))
    return interval([*kinds.values()], calls), {kind: float(values.mean()) for kind, values in kinds.items()}


def score_rules(rules: Sequence[Any], split: str = "train", share: int = 1) -> list[tuple[Estimate, dict[str, float]]]:
    """Return score and kinds (`difference`) of rules of one control, played together in this process: those of one class compile once.

    Args:
        rules: rules that you trust; their loops end.
        split: train, or validation for a rule that a search has found.
        share: every so many seeds of the suite are played, at least one.
    """
    control = type(rules[0]).facts.control
    suite, other = task_of(control)
    parts = (part._replace(split=split, seeds=-(-part.seeds // share)) for part in suite.parts)
    suite, reference = suite._replace(parts=tuple(parts)), load_system(other)
    named = {"reference": reference} | {f"rule-{number}": reference.replace(**{control: rule}) for number, rule in enumerate(rules)}
    rows = play(named=named, suite=suite)
    of_system = {name: rows.filter(pc.equal(rows["system"], name)) for name in named}
    kept, metric = of_system.pop("reference"), suite.columns.primary.name
    return [difference(of_rule, kept, metric) for of_rule in of_system.values()]
