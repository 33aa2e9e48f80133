"""Plots of a conference on the dumbbell over time.

Rates of the sessions and the optimum, delay and loss are as in Celerity's Figures 5 to 7. Apart: trees and link loads at the end of each
part of the timeline, and loads throughout.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from vcgym.baselines.systems import System
from vcgym.conference.board.kind import optima_kbps
from vcgym.conference.env.picture import draw_conference
from vcgym.conference.network.world import dumbbell_timeline
from vcgym.conference.rules.play import play
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.report.series import Picture, save_small

_SESSIONS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f")
_OPTIMUM = "#8c8c8c"
_MEANS_S = 5
_WINDOW_S = 10
_LINKS = {"E->F": "#1f4ea1", "F->E": "#d1782b", "A->E": "#3f9464", "A->B": "#b04a8f"}


def draw_session_rates(name: str, system: System, folder: Path, suite: Suite) -> Path:
    """Play the dumbbell's timeline, whatever the suite, and write rates-NAME.png: means over 5 s of rate, delay and loss."""
    world = dumbbell_timeline()
    played, optima = play(world, system.trees), np.array(optima_kbps(world))
    seconds = len(played.kbps)
    starts_s = np.arange(0, seconds, _MEANS_S)
    rates_kbps = played.window_kbps(0, _MEANS_S)
    figure = Figure(figsize=(8.6, 6.2), layout="constrained")
    figure.suptitle(f"{name}: kbit/s of each session at its slowest receiver, and the optimum of two hops")
    panels: Any = figure.subplots(3, 2, sharex=True)
    for m, (party, colour, axes) in enumerate(zip(world.topology.parties, _SESSIONS, panels.flat, strict=False)):
        axes.step([*world.changes_s(), seconds], [*optima[:, m], optima[-1, m]], where="post", color=_OPTIMUM, label="optimum")
        axes.plot(starts_s, rates_kbps[:, m], color=colour, linewidth=1.0, label=party)
        axes.set(ylim=(0, 320), ylabel="kbit/s")
        axes.legend(loc="lower left", fontsize=8)
        delay_ms = np.delete(played.delay_ms[:, m], m, axis=1).reshape(len(starts_s), -1)
        panels[2, 0].plot(starts_s, np.nanmean(delay_ms, axis=1), color=colour, linewidth=0.9)
    panels[2, 0].set(ylabel="delay, ms", xlabel="s")
    lost = 100.0 * played.lost.reshape(len(starts_s), -1).mean(axis=1)
    panels[2, 1].plot(starts_s, lost, color="#222222", linewidth=0.9)
    panels[2, 1].set(ylim=(-0.1, max(2.0, 1.1 * lost.max())), ylabel="lost on links, %", xlabel="s")
    for axes in panels.flat:
        axes.set_xlim(0, seconds)
        axes.grid(color="#e8eaed", linewidth=0.5)
    return save_small(figure, folder / f"rates-{name}.png", 80, 48)


def draw_network(name: str, system: System, folder: Path, suite: Suite) -> Path:
    """Play the dumbbell's timeline, whatever the suite, and write trees-NAME.png: largest trees and link loads, means over 10 s."""
    world = dumbbell_timeline()
    played = play(world, system.trees)
    seconds, links = len(played.kbps), [link.name for link in world.topology.links]
    figure = Figure(figsize=(8.6, 9.0), layout="constrained")
    figure.suptitle(f"{name} on the dumbbell: largest tree of each session, and load of each link")
    grid = figure.add_gridspec(3, 2, height_ratios=(3, 3, 2))
    ends_s = [*(int(at_s) for at_s in world.changes_s()[1:]), seconds]
    for number, end_s in enumerate(ends_s):
        axes: Any = figure.add_subplot(grid[number // 2, number % 2])
        mean = slice(end_s - _WINDOW_S, end_s)
        rates_kbps = played.session_kbps(mean.start, mean.stop)
        draw_conference(axes, world.topology, played.loads[mean].mean(axis=0), played.trees[end_s - 1], rates_kbps)
        axes.set_title(f"second {mean.start} to {mean.stop}", fontsize=9)
        axes.legend(loc="upper right", fontsize=7)
    below = figure.add_subplot(grid[2, :])
    loads = played.loads.reshape(-1, _WINDOW_S, len(links)).mean(axis=1)
    for link, color in _LINKS.items():
        below.plot(np.arange(0, seconds, _WINDOW_S), 100.0 * loads[:, links.index(link)], color=color, linewidth=1.0, label=link)
    below.set(xlim=(0, seconds), ylim=(0, 115), xlabel="s", ylabel="load of a link, %")
    below.grid(color="#e8eaed", linewidth=0.5)
    below.legend(loc="upper right", fontsize=7, ncols=len(_LINKS))
    return save_small(figure, folder / f"trees-{name}.png", 80, 64)


PICTURES = (
    Picture(draw_session_rates),
    Picture(
        draw_network,
        "trees-",
        "Trees and link loads of {system}, over time",
        "on Celerity's dumbbell: cross traffic from second 300 to 500, A cut off from its router from second 700 on",
        "Trees and link loads of {system} at four instants, and link loads over time",
    ),
)
"""Pictures of a system of trees."""
