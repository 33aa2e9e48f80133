"""The picture of the zoo: learning curves over decisions and over processor time with 95 % bands, and performance profiles."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from vcgym.leaderboard.report.series import save_small
from vcgym.leaderboard.statistics.aggregates import performance_profile
from vcgym.leaderboard.statistics.laws import student_quantile
from vcgym.leaderboard.statistics.resampling import CONFIDENCE
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.runs import Curves
from vcgym.scripts.zoo.table import Levels, normalised, scores_of

LOWEST, HIGHEST = -50.0, 100.0
BAND_SEEDS = 3  # with fewer, Student's interval is wider than the picture
_STEPS = 60


def draw(curves: Curves, levels: Levels, path: Path) -> None:
    """Draw a row of environments over decisions, one over processor time, and the profiles of the algorithms that are on all."""
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
            panel.axhline(normalised(levels[env, "tuned"], env, levels), color="grey", linewidth=0.8, linestyle="--")
        panels[row][0].set_ylabel("0 = best published, dashes: tuned")
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
    envs = {cell.env for cell in curves}
    for name, its in scores_of(curves, levels).items():
        if its.by_env.keys() == envs:
            panel.plot(thresholds, performance_profile(np.concatenate(list(its.by_env.values())), thresholds), color=colours[name])
    panel.set(title="trainings above a score", xlabel="score at the end", ylim=(0.0, 1.0))
