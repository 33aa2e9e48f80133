"""Plot of a conference on the dumbbell over time: trees and link loads at the end of each part of its timeline, and loads throughout."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from vcgym.baselines.conference.play import play
from vcgym.baselines.systems import System
from vcgym.envs.conference.picture import draw_conference
from vcgym.leaderboard.report.small_picture import save_small
from vcgym.network.overlay.world import dumbbell_timeline

PREFIX = "trees-"
_WINDOW_S = 10
_LINKS = {"E->F": "#1f4ea1", "F->E": "#d1782b", "A->E": "#3f9464", "A->B": "#b04a8f"}
_SHADES = 64  # of the picture


def draw_network_course(name: str, system: System, folder: Path) -> Path:
    """Play the dumbbell's timeline and write trees-NAME.png: largest tree of each session and link loads, means over 10 s.

    Args:
        name: name of the system, for title and file.
        system: system with a rule for trees.
        folder: folder for the picture.

    Returns:
        The path of the picture.
    """
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
    return save_small(figure, folder / f"{PREFIX}{name}.png", 80, _SHADES)
