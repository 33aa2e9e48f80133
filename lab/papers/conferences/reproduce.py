"""Comparison of S2 with our results: every statement with a verdict; Celerity with `SEEDS` seeds and 95 % intervals by Student's law.

Celerity's formulas are computed on small cases and on random link rates:

ring_bound     min-cut of a source with three receivers, 1 unit to each of them and 1 on a ring among them
ring_trees     the best packing of two-hop trees into the same rates
concavity      largest excess of the mean of two rates over the rate at the mean of their link rates
subgradient    largest excess of a rate over its linear bound from other link rates
delay_bound    min-cut of a receiver whose only relay is 210 ms away, 1 unit on each link
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from lab.papers.causes import READING, Experiment, causes_table, shares_table, with_causes
from lab.papers.conferences.measures import (
    CAPACITIES_KBPS,
    SEEDS,
    WINDOW_S,
    FixedPoint,
    of_course,
    planned_kbps,
    play_fixed_point,
    play_timeline,
    settled_s,
)
from lab.papers.conferences.statements import (
    SESSIONS,
    ConferenceStatement,
    CourseFigure,
    Crossings,
    Exact,
    MeasuredQueueing,
    PrintedConstant,
    SessionRate,
    load_arithmetic,
    load_statements,
)
from lab.papers.judge import REPRODUCED
from lab.papers.verdicts import INPUT, NOTHING, VERDICTS, estimate_text, verdict_cell, verdict_row
from vcgym.agents.tracking.progress import OnProgress
from vcgym.conference.network.network import HEADER_BYTES
from vcgym.conference.network.trees import DELAY_BOUND_MS
from vcgym.conference.optimum.oracle_lp import packed_rate
from vcgym.conference.rules.celerity import REPORT_S, UPDATE_S, Celerity
from vcgym.conference.rules.link_rates import min_cut, session_rate
from vcgym.conference.rules.play import PlayedConference
from vcgym.conference.rules.reports import RATES_BYTES, STATE_BYTES
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.traces.plain_file import replace_file

_DRAWS = 2000
_PARTIES = 6


def _ring() -> NDArray[np.float64]:
    rates = np.zeros((4, 4))
    rates[0, 1:] = rates[2, 1] = rates[3, 2] = rates[1, 3] = 1.0
    return rates


def _ring_bound() -> float:
    return _rate(_ring())[0]


def _ring_trees() -> float:
    rates = _ring()
    return float(packed_rate(0, rates, np.where(rates > 0.0, 0.0, math.inf)).allocation.session_kbps()[0])


def _concavity() -> float:
    return max(0.5 * (_rate(one)[0] + _rate(other)[0]) - _rate(0.5 * (one + other))[0] for one, other in _pairs())


def _subgradient() -> float:
    excess = 0.0
    for one, other in _pairs():
        rate, cut = _rate(one)
        excess = max(excess, _rate(other)[0] - rate - float((other - one)[cut].sum()))
    return excess


def _delay_bound() -> float:
    delay_ms = np.array([[math.inf, 150.0, 100.0], [math.inf, math.inf, 60.0], [math.inf] * 3])
    return float(min_cut(0, 2, np.ones(3, bool), np.ones((3, 3)), delay_ms, DELAY_BOUND_MS))


def _rate(rates: NDArray[np.float64]) -> tuple[float, NDArray[np.bool_]]:
    """Return the min-cut of party 0 without delays, and its critical cut."""
    cut = np.zeros(rates.shape, bool)
    return float(session_rate(0, np.ones(len(rates), bool), rates, np.zeros(rates.shape), DELAY_BOUND_MS, cut)), cut


def _pairs() -> NDArray[np.float64]:
    """Return random link rates, (_DRAWS, 2, P, P)."""
    return np.random.default_rng(0).uniform(0.0, 1.0, (_DRAWS, 2, _PARTIES, _PARTIES))


FORMULAS: dict[str, Callable[[], float]] = {
    "ring_bound": _ring_bound, "ring_trees": _ring_trees, "concavity": _concavity, "subgradient": _subgradient, "delay_bound": _delay_bound,
}  # fmt: skip


_MODE = "dumbbell"
_LONGER_S = 20  # the paper does not print over how long its rates are taken
_CONSTANTS = {
    "header_bytes": HEADER_BYTES, "update_s": UPDATE_S, "report_s": REPORT_S, "quick_s": Celerity().quick_s, "bound_ms": DELAY_BOUND_MS,
    "update_kbps": 8e-3 * RATES_BYTES / UPDATE_S, "report_kbps": 8e-3 * STATE_BYTES / REPORT_S,
}  # fmt: skip


class Runs(NamedTuple):
    """Celerity played with each seed: on the timeline, and to its fixed point by capacity from E to F."""

    timelines: list[PlayedConference]
    fixed_points: Mapping[float, list[FixedPoint]]


def reproduce(folder: Path, on_progress: OnProgress) -> list[dict[str, Any]]:
    """Play, judge every statement, write conference_verdicts.parquet and conference_reproduction.md, and return the verdicts."""
    timelines: list[PlayedConference] = []
    fixed_points: dict[float, list[FixedPoint]] = {capacity: [] for capacity in CAPACITIES_KBPS}
    for seed in range(SEEDS):
        on_progress(seed, f"seed {seed}")
        timelines.append(play_timeline(seed))
        for capacity, found in fixed_points.items():
            found.append(play_fixed_point(capacity, seed))
    rows = [verdict(statement, Runs(timelines, fixed_points)) for statement in load_statements()]
    settled = interval([[settled_s(run, _LONGER_S) for run in timelines]])
    tried = Experiment(
        statement="S2-settled", causes=(READING,), changed=f"rates over {_LONGER_S} s, not {WINDOW_S}", found=estimate_text(settled, "s")
    )
    rows = with_causes(rows, load_statements(), load_arithmetic(), [tried]) + arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "conference_verdicts.parquet")
    replace_file(folder / "conference_reproduction.md", page(rows).encode())
    return rows


def verdict(statement: ConferenceStatement, runs: Runs) -> dict[str, Any]:
    """Return the row of a statement."""
    is_input = isinstance(statement.measure, PrintedConstant)
    return verdict_row(statement, _MODE, measured(statement, runs), statement.unit, is_input=is_input)


def measured(statement: ConferenceStatement, runs: Runs) -> Estimate:
    """Return our value: exact if it is computed, else the mean over seeds."""
    match statement.measure:
        case SessionRate(system="celerity", from_s=from_s, to_s=to_s, session=session):
            return interval([[run.session_kbps(from_s, to_s)[SESSIONS.index(session)] for run in runs.timelines]])
        case SessionRate() as planned:
            return _exact(planned_kbps(planned))
        case CourseFigure(what=what):
            return interval([[of_course(what, run) for run in runs.timelines]])
        case MeasuredQueueing(tail=tail, head=head, capacity_kbps=capacity):
            ends = SESSIONS.index(tail), SESSIONS.index(head)
            return interval([[found.queueing_ms[ends] for found in runs.fixed_points[capacity]]])
        case Crossings(session=session):
            return interval([[found.crossings[SESSIONS.index(session)] for found in runs.fixed_points[CAPACITIES_KBPS[0]]]])
        case Exact(what=what):
            return _exact(FORMULAS[what]())
        case PrintedConstant(name=name):
            return _exact(_CONSTANTS[name])
    return NOTHING


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value)


def page(rows: list[dict[str, Any]]) -> str:
    """Return Markdown with the counts of verdicts, then every statement."""
    judged = [row for row in rows if row["origin"] != ARITHMETIC]
    inputs = sum(row["origin"] == INPUT for row in judged)
    lines = [[row["text"], row["source"], row["published"], verdict_cell(row, row["verdict"] != REPRODUCED)] for row in judged]
    headings = ("statement", "source", "published", "ours")
    return "\n".join([
        "# S2 beside ours\n", shares_table(judged, lambda row: f"without {inputs} inputs of ours"),
        markdown_table(headings, lines, headings), causes_table(judged), arithmetic_table(rows),
    ])  # fmt: skip
