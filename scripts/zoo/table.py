"""The table of the zoo: scores between the best published rule (0) and hindsight (100), by algorithm and environment, and aggregates.

Aggregates over environments are those of Agarwal et al. 2021 (arXiv 2108.13264), with environments as tasks and seeds as runs: the
interquartile mean with the stratified bootstrap over seeds, the probability of improvement, the performance profile. Intervals of a cell
are Student's over seeds; with one seed there is none.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.statistics.aggregates import interquartile_mean, probability_of_improvement
from vcgym.leaderboard.statistics.laws import student_quantile
from vcgym.leaderboard.statistics.resampling import CONFIDENCE, Estimate, resample
from vcgym.scripts.zoo.runs import Curves, ZooBudget, at_cpu, at_decisions, planned_for

BEGIN, END = "<!-- the table: made by vcgym zoo -->", "<!-- the end of the table -->"
Levels = Mapping[tuple[str, str], float]
"""Environment and role of a reference -> its mean score."""


class ZooScores(NamedTuple):
    """Scores of an algorithm by environment, (seeds,) each: after the decisions, and after the processor time, of the budget."""

    by_decisions: dict[str, NDArray[np.float64]]
    by_cpu: dict[str, NDArray[np.float64]]


def normalised(score: float, env: str, levels: Levels) -> float:
    """Return a score on the scale from the best published rule (0) to the bound (100) of its environment."""
    zero, hundred = levels[env, "published"], levels[env, "bound"]
    return 100.0 * (score - zero) / (hundred - zero)


def scores_of(curves: Curves, budget: ZooBudget, levels: Levels) -> dict[str, ZooScores]:
    """Return the scores of each algorithm; a training without the decisions of the budget counts under processor time alone."""
    found: dict[str, ZooScores] = {}
    for cell, curve in sorted(curves.items()):
        its = found.setdefault(cell.algorithm, ZooScores({}, {}))
        for values, point in ((its.by_decisions, at_decisions(curve, budget)), (its.by_cpu, at_cpu(curve, budget))):
            if point is not None:
                values[cell.env] = np.append(values.get(cell.env, np.zeros(0)), normalised(point.score, cell.env, levels))
    return found


def of_seeds(values: NDArray[np.float64]) -> Estimate:
    """Return the mean over seeds with Student's interval."""
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, np.nan, np.nan)
    half = student_quantile(0.5 * (1.0 - CONFIDENCE), len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return Estimate(mean, float(mean - half), float(mean + half))


def over_environments(by_env: Mapping[str, NDArray[np.float64]]) -> Estimate:
    """Return the interquartile mean over environments and seeds, with the stratified bootstrap over seeds."""
    values = [by_env[env] for env in sorted(by_env)]
    return resample(np.concatenate(values)[None], np.array([len(one) for one in values]), interquartile_mean).estimates()[0]


def improvement(by_env: Mapping[str, NDArray[np.float64]], others: Mapping[str, NDArray[np.float64]]) -> float:
    """Return the probability that a seed of one exceeds a seed of the other, averaged over the environments of both."""
    common = sorted(by_env.keys() & others.keys())
    return float(np.mean([probability_of_improvement(by_env[env][None], others[env][None]) for env in common]))


def markdown(runs: Curves, budget: ZooBudget, levels: Levels, names: Mapping[tuple[str, str], str]) -> str:
    """Return the tables at both budgets, rules first, the aggregates, and one table for each other number of planned decisions.

    Args:
        runs: all trainings so far.
        budget: decisions and processor time at which they are compared.
        levels: mean scores of the references.
        names: their names.
    """
    curves = planned_for(runs, budget.decisions)
    envs = sorted({cell.env for cell in curves})
    found = scores_of(curves, budget, levels)
    lines = _head(f"after {budget.decisions:,} decisions (seeds)", envs)
    for role in ("bound", "tuned", "learned", "published", "random"):
        cells = [f"{normalised(levels[env, role], env, levels):.0f} {names[env, role]}" for env in envs]
        lines.append(f"| {role} | {' | '.join(cells)} |")
    lines += [_row(name, found[name].by_decisions, envs) for name in _ordered(found, "by_decisions")]
    lines += ["", *_head(f"after {budget.cpu_s:.0f} s of processor time (seeds)", envs)]
    lines += [_row(name, found[name].by_cpu, envs) for name in _ordered(found, "by_cpu")]
    whole = {name: its for name, its in found.items() if its.by_cpu.keys() == set(envs)}
    first = next(iter(_ordered(whole, "by_cpu")), "")
    title = f"interquartile mean, {len(envs)} environments"
    lines += ["", f"| {title} | equal decisions | equal time | better than {first}, equal time |", "| --- | ---: | ---: | ---: |"]
    for name in _ordered(whole, "by_cpu"):
        its = whole[name]
        after = _text(over_environments(its.by_decisions)) if its.by_decisions.keys() == set(envs) else ""
        better = "" if name == first else f"{improvement(its.by_cpu, whole[first].by_cpu):.2f}"
        lines.append(f"| {name} | {after} | {_text(over_environments(its.by_cpu))} | {better} |")
    for decisions in sorted({cell.planned for cell in runs} - {budget.decisions}, reverse=True):
        lines += _other(runs, decisions, levels)
    return "\n".join(lines)


def _other(runs: Curves, decisions: int, levels: Levels) -> list[str]:
    """Return the table of the trainings that were planned for another number of decisions, after these."""
    curves = planned_for(runs, decisions)
    envs, found = sorted({cell.env for cell in curves}), scores_of(curves, ZooBudget(decisions, 0.0), levels)
    rows = [_row(name, found[name].by_decisions, envs) for name in _ordered(found, "by_decisions")]
    return ["", *_head(f"planned for {decisions:,} decisions, after these (seeds)", envs), *rows]


def _head(title: str, envs: Sequence[str]) -> list[str]:
    heads = " | ".join(env.removeprefix("vcgym/") for env in envs)
    return [f"| {title} | {heads} |", f"| --- |{' ---: |' * len(envs)}"]


def _ordered(found: Mapping[str, ZooScores], field: str) -> list[str]:
    """Return the algorithms with scores, on most environments first, then best mean first."""
    means = {name: [float(one.mean()) for one in getattr(its, field).values()] for name, its in found.items()}
    return sorted((name for name in means if means[name]), key=lambda name: (-len(means[name]), -float(np.mean(means[name]))))


def _row(name: str, by_env: Mapping[str, NDArray[np.float64]], envs: Sequence[str]) -> str:
    cells = [f"{_text(of_seeds(by_env[env]))} ({len(by_env[env])})" if env in by_env else "" for env in envs]
    return f"| {name} | {' | '.join(cells)} |"


def _text(estimate: Estimate) -> str:
    interval = "" if np.isnan(estimate.low) else f" [{estimate.low:.0f}, {estimate.high:.0f}]"
    return f"{estimate.value:.0f}{interval}"


def with_table(page: str, table: str) -> str:
    """Return a page with its table replaced, or with the table at its end if it has none."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before.strip()}\n\n{BEGIN}\n\n{table}\n\n{END}\n\n{after.strip()}".rstrip() + "\n"
