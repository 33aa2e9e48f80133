"""Small suites of training worlds, one for each control, and the score of a rule on one of them.

No world of validation or test is among them, so a rule that was searched here is ranked on worlds that no score has shown. A suite has the
kinds of worlds of the board of its control, but not mode paper of `default`: differences are ten times as large there, and would decide
alone. Other calls, as in `calls-v0`, would take a rate rule three times as long to compile.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vcgym.baselines.controls.control import Control
from vcgym.leaderboard.evaluation.bars import bar_of
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, MEASURED, SUITES, Suite
from vcgym.leaderboard.statistics import Estimate, pair_worlds
from vcgym.leaderboard.statistics.paired import sample
from vcgym.leaderboard.statistics.resampling import interval


class Task(NamedTuple):
    """Suite on which a rule is scored, and the system whose rule it replaces and with which it is compared."""

    suite: Suite
    reference: str


def _suite(control: str, board: str, share: int, *modes: str) -> Suite:
    """Return the suite of a control: training worlds of the kinds of a board, without kinds whose data do not ship.

    Args:
        control: the control.
        board: suite that names the kinds of worlds and of calls.
        share: of how many seeds of the board the suite has one; a seed is a world of each training pair, over a bottleneck one world.
        modes: modes whose kinds are taken.
    """
    parts = [part for part in SUITES[board].parts if part.mode in modes and part.scenario != MEASURED]
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

    Calls over measured time count as the number of independent calls among them (`vcgym.leaderboard.statistics.paired`).
    """
    both = pa.concat_tables([rule, reference])
    names = rule["system"][0].as_py(), reference["system"][0].as_py()
    kinds, calls, means = list[NDArray[np.float64]](), list[int](), dict[str, float]()
    for mode in both["mode"].unique().to_pylist():
        paired = pair_worlds(both.filter(pc.equal(both["mode"], mode))).of(*names)
        found = sample(paired, metric)
        kinds += np.split(found.values[0] - found.values[1], found.starts[1:])
        calls += found.calls.tolist()
        values, strata = paired.results[metric].to_numpy(), np.array(paired.results["stratum"].to_pylist())[paired.row[0]]
        apart = values[paired.row[0]] - values[paired.row[1]]
        means |= {str(stratum): float(apart[strata == stratum].mean()) for stratum in dict.fromkeys(strata)}
    return interval(kinds, calls), means
