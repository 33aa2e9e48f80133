"""The page of the zoo: the table of all trainings so far, and its picture beside it.

Scores lie between the best published rule (0) and a controller that is told the next 100 ms (100; without one, the bound).
Aggregates over environments are those of Agarwal et al. 2021 (arXiv
2108.13264), with environments as tasks and seeds as runs: the interquartile mean with the stratified bootstrap over seeds, the probability
of improvement, the performance profile. Intervals of a cell are Student's over seeds; with one seed there is none. The picture has
learning curves over decisions and over processor time with 95 % bands, and performance profiles.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from vcgym.envs import DIFFICULTIES, IDS, name_of, without_difficulty
from vcgym.leaderboard.report.series import save_small
from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE, performance_profile, probability_of_improvement, trimmed_mean
from vcgym.leaderboard.statistics.resampling import CONFIDENCE, Estimate, resample, student_quantile
from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import INSIDE
from vcgym.scripts.zoo.runs import HUNDRED, ROLES, Curves, at_end, means, planned_for, read_references, references_path

BEGIN, END = "<!-- the table: made by vcgym zoo -->", "<!-- the end of the table -->"
LOWEST, HIGHEST = -50.0, 190.0
BAND_SEEDS = 3  # with fewer, Student's interval is wider than the picture
_STEPS = 60
Levels = Mapping[tuple[str, str], float]
"""Environment and role of a reference -> its mean score."""


class ZooScores(NamedTuple):
    """Scores of an algorithm at the ends of its trainings, by environment (seeds,), and the seconds of one core that these took."""

    by_env: dict[str, NDArray[np.float64]]
    cpu_s: list[float]


def normalised(score: float, env: str, levels: Levels) -> float:
    """Return a score on the scale of its environment, from the best published rule (0) to `HUNDRED`, without one to the bound (100).

    Rules decide when they like, so an environment with a difficulty has the scale of the one without.
    """
    env, _ = without_difficulty(env)
    zero, hundred = levels[env, "published"], levels.get((env, HUNDRED), levels[env, "bound"])
    return 100.0 * (score - zero) / (hundred - zero)


def scores_of(curves: Curves, levels: Levels) -> dict[str, ZooScores]:
    """Return the scores of each algorithm; a training without its decisions does not count."""
    found: dict[str, ZooScores] = {}
    for cell, curve in sorted(curves.items()):
        point = at_end(cell, curve)
        if point is not None:
            its = found.setdefault(cell.algorithm, ZooScores({}, []))
            its.by_env[cell.env] = np.append(its.by_env.get(cell.env, np.zeros(0)), normalised(point.score, cell.env, levels))
            its.cpu_s.append(point.cpu_s)
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
    middle, sizes = partial(trimmed_mean, trim=INTERQUARTILE), np.array([len(one) for one in values])
    return resample(np.concatenate(values)[None], sizes, middle).estimates()[0]


def improvement(by_env: Mapping[str, NDArray[np.float64]], others: Mapping[str, NDArray[np.float64]]) -> float:
    """Return the probability that a seed of one exceeds a seed of the other, averaged over the environments of both."""
    common = sorted(by_env.keys() & others.keys())
    return float(np.mean([probability_of_improvement(by_env[env][None], others[env][None]) for env in common]))


def markdown(runs: Curves, decisions: int, levels: Levels, names: Mapping[tuple[str, str], str]) -> str:
    """Return the table of scores, rules first, the aggregates, and one table for each other number of planned decisions.

    Args:
        runs: all trainings so far.
        decisions: planned decisions at which they are compared.
        levels: mean scores of the references.
        names: their names.
    """
    every = planned_for(runs, decisions)
    curves = _plain(every)
    envs = sorted({cell.env for cell in curves})
    found = scores_of(curves, levels)
    lines = _head(f"after {decisions:,} decisions, {INSIDE} after its own (seeds)", envs)
    for role in reversed(ROLES):
        cells = [f"{normalised(levels[env, role], env, levels):.0f} {names[env, role]}" if (env, role) in levels else "" for env in envs]
        lines += [f"| {role} | {' | '.join(cells)} |"] if any(cells) else []
    lines += [_row(name, found[name].by_env, envs) for name in _ordered(found)]
    shared = _shared(found, envs)
    whole = {name: _of_envs(its, shared) for name, its in found.items() if its.by_env.keys() >= shared}
    first = next(iter(_ordered(whole)), "")
    title = f"interquartile mean, {', '.join(sorted(env.removeprefix('vcgym/') for env in shared))}"
    lines += ["", f"| {title} | score | better than {first} | seconds of one core, median |", "| --- | ---: | ---: | ---: |"]
    for name in _ordered(whole):
        its = whole[name]
        better = "" if name == first else f"{improvement(its.by_env, whole[first].by_env):.2f}"
        lines.append(f"| {name} | {_text(over_environments(its.by_env))} | {better} | {np.median(its.cpu_s):.0f} |")
    lines += _difficulties(scores_of(every, levels))
    for other in sorted({cell.planned for cell in runs if cell.algorithm != INSIDE} - {decisions}, reverse=True):
        lines += _other({cell: curve for cell, curve in runs.items() if cell.planned == other}, other, levels)
    return "\n".join(lines)


def _plain(curves: Curves) -> Curves:
    """Return the trainings on environments without a difficulty."""
    return {cell: curve for cell, curve in curves.items() if cell.env not in DIFFICULTIES}


def _shared(found: Mapping[str, ZooScores], envs: Sequence[str]) -> set[str]:
    """Return the environments that every algorithm takes: PPO inside the loop leaves some out."""
    return set(envs) & set(found[INSIDE].by_env if INSIDE in found else envs)


def _of_envs(its: ZooScores, envs: set[str]) -> ZooScores:
    return ZooScores({env: values for env, values in its.by_env.items() if env in envs}, its.cpu_s)


def _difficulties(found: Mapping[str, ZooScores]) -> list[str]:
    """Return a table with a row for each environment and algorithm that were trained at a difficulty."""
    lines = []
    for env in IDS.values():
        ids = [f"vcgym/{name_of(env)}-easy-v1", env, f"vcgym/{name_of(env)}-hard-v1"]
        for name in _ordered(found):
            by_env = found[name].by_env
            if by_env.keys() & {ids[0], ids[2]}:
                lines.append(_row(f"{env.removeprefix('vcgym/')} {name}", by_env, ids))
    return ["", "| difficulty | easy | as it is | hard |", "| --- | ---: | ---: | ---: |", *lines] if lines else []


def _other(curves: Curves, decisions: int, levels: Levels) -> list[str]:
    """Return the table of the trainings that were planned for another number of decisions."""
    envs, found = sorted({cell.env for cell in curves}), scores_of(curves, levels)
    rows = [_row(name, found[name].by_env, envs) for name in _ordered(found)]
    return ["", *_head(f"planned for {decisions:,} decisions, after these (seeds)", envs), *rows]


def _head(title: str, envs: Sequence[str]) -> list[str]:
    heads = " | ".join(env.removeprefix("vcgym/") for env in envs)
    return [f"| {title} | {heads} |", f"| --- |{' ---: |' * len(envs)}"]


def _ordered(found: Mapping[str, ZooScores]) -> list[str]:
    """Return the algorithms, on most environments first, then best mean first."""
    means = {name: [float(one.mean()) for one in its.by_env.values()] for name, its in found.items()}
    return sorted(means, key=lambda name: (-len(means[name]), -float(np.mean(means[name]))))


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


def draw(curves: Curves, levels: Levels, path: Path) -> None:
    """Draw a row of environments over decisions, one over processor time, and the profiles of the algorithms that are on all."""
    curves = _plain(curves)
    envs, algorithms = sorted({cell.env for cell in curves}), sorted({cell.algorithm for cell in curves})
    colours = {name: f"C{number}" if number < 10 else "black" for number, name in enumerate(algorithms)}
    figure = Figure(figsize=(3.0 * (len(envs) + 1), 6.0), layout="constrained")
    panels = figure.subplots(2, len(envs) + 1, squeeze=False)
    for row, (field, unit) in enumerate((("decisions", "decisions"), ("cpu_s", "s of processor time"))):
        for panel, env in zip(panels[row], envs, strict=False):
            for name in algorithms:
                its = [curve for cell, curve in curves.items() if (cell.env, cell.algorithm) == (env, name)]
                _curves(panel, its, field, env, levels, colours[name])
            panel.set(title=env.removeprefix("vcgym/"), xlabel=unit, xscale="log", ylim=(LOWEST, HIGHEST))
            panel.xaxis.set_minor_formatter(NullFormatter())
            if field == "cpu_s":
                panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
                panel.xaxis.set_major_formatter("{x:g}")
            panel.axhline(0.0, color="grey", linewidth=0.8)
            for role, style in (("tuned", "--"), ("bound", ":")):
                panel.axhline(normalised(levels[env, role], env, levels), color="grey", linewidth=0.8, linestyle=style)
        panels[row][0].set_ylabel("dashes: tuned, dots: bound")
    _profiles(panels[0][-1], curves, levels, colours)
    panels[1][-1].axis("off")
    for name, colour in colours.items():
        panels[1][-1].plot([], [], color=colour, label=name)
    panels[1][-1].legend(loc="center", frameon=False)
    save_small(figure, path, dpi=80, shades=64)


def _curves(panel: Any, its: list[list[CurvePoint]], field: str, env: str, levels: Levels, colour: str) -> None:
    """Draw the mean of the trainings of an algorithm where all have points, and its band if there are three or more."""
    if not its:
        return
    ends = min(getattr(curve[-1], field) for curve in its)
    begins = max(getattr(curve[0], field) for curve in its)
    grid = np.linspace(begins, max(begins, ends), _STEPS)
    lines = [
        np.interp(grid, [getattr(one, field) for one in curve], [normalised(one.score, env, levels) for one in curve]) for curve in its
    ]
    mean = np.mean(lines, axis=0)
    panel.plot(grid, mean, color=colour, linewidth=1.2)
    if len(its) >= BAND_SEEDS:
        half = student_quantile(0.5 * (1.0 - CONFIDENCE), len(its) - 1) * np.std(lines, axis=0, ddof=1) / np.sqrt(len(its))
        panel.fill_between(grid, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0.0)


def _profiles(panel: Any, curves: Curves, levels: Levels, colours: dict[str, str]) -> None:
    thresholds = np.linspace(LOWEST, HIGHEST, 201)
    found = scores_of(curves, levels)
    shared = _shared(found, sorted({cell.env for cell in curves}))
    for name, its in found.items():
        if its.by_env.keys() >= shared:
            values = np.concatenate([its.by_env[env] for env in sorted(shared)])
            panel.plot(thresholds, performance_profile(values, thresholds), color=colours[name])
    panel.set(title="trainings above a score", xlabel="score at the end", ylim=(0.0, 1.0))


def write_page(page: Path, runs: Curves, decisions: int, worlds: int) -> None:
    """Write the table of a page anew, and pictures/zoo.png in its folder; nothing if no training was planned for `decisions`.

    Args:
        page: the page, whose other words stay.
        runs: all trainings so far; those planned for other numbers of decisions have tables of their own.
        decisions: planned decisions at which the trainings are compared and drawn.
        worlds: validation worlds of the scores.
    """
    curves, references = planned_for(runs, decisions), read_references(references_path())
    if not curves:
        return
    levels = means(references, worlds)
    table = markdown(runs, decisions, levels, {(one.env, one.role): one.name for one in references})
    text = page.read_text(encoding="utf-8") if page.is_file() else "# The zoo\n"
    replace_file(page, with_table(text, table).encode())
    draw(curves, levels, page.parent / "pictures" / "zoo.png")
