"""Plots of a conference on the dumbbell over time, as in Celerity's Figures 5 to 7: rates of the sessions and the optimum, delay, loss."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from vcgym.baselines.conference.play import play
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.conference_rollout import optima_kbps
from vcgym.leaderboard.report.small_picture import save_small
from vcgym.network.overlay.world import dumbbell_timeline

_COLOURS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f")
_OPTIMUM = "#8c8c8c"
_WINDOW_S = 5
_SHADES = 48  # of the picture


def draw_session_rates(name: str, system: System, folder: Path) -> Path:
    """Play the dumbbell's timeline and write rates-NAME.png: means over 5 s of rate, delay and loss.

    Args:
        name: name of the system, for title and file.
        system: system with a rule for trees.
        folder: folder for the picture.

    Returns:
        The path of the picture.
    """
    world = dumbbell_timeline()
    played, optima = play(world, system.trees), np.array(optima_kbps(world))
    seconds = len(played.kbps)
    starts_s = np.arange(0, seconds, _WINDOW_S)
    rates_kbps = played.window_kbps(0, _WINDOW_S)
    figure = Figure(figsize=(8.6, 6.2), layout="constrained")
    figure.suptitle(f"{name}: kbit/s of each session at its slowest receiver, and the optimum of two hops")
    panels: Any = figure.subplots(3, 2, sharex=True)
    for m, (party, colour, axes) in enumerate(zip(world.topology.parties, _COLOURS, panels.flat, strict=False)):
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
    return save_small(figure, folder / f"rates-{name}.png", 80, _SHADES)
