"""Delay distributions as SVG: the same bytes for the same counts, colours by style sheet so that they suit light and dark pages."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from io import StringIO
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from vcgym.leaderboard.cdf import GRID_MS, DelayCdf

_COLOURS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f", "#8a7a2f", "#4aa3b5", "#7a5fc0", "#8c8c8c")
_DASHES = ("", "6 2.5", "1.6 2")
_AGENT_COLOUR = "#c8283c"
_INK, _GRID = "#010203", "#040506"  # stand-ins that the page's own colours replace


class Stroke(NamedTuple):
    """How one system is drawn, in the figure as in the legend: colour, SVG dash pattern ("" = solid) and width in points."""

    colour: str
    dashes: str
    width: float


def strokes(kinds: Mapping[str, str]) -> dict[str, Stroke]:
    """A stroke for each system (name -> kind): rules differ by colour, then by dashes (24 of them); agents are thick and red."""
    agents = sorted(system for system, kind in kinds.items() if kind == "agent")
    rules = sorted(set(kinds) - set(agents))
    drawn = {system: Stroke(_AGENT_COLOUR, _DASHES[k % len(_DASHES)], 2.6) for k, system in enumerate(agents)}
    for k, system in enumerate(rules):
        drawn[system] = Stroke(_COLOURS[k % len(_COLOURS)], _DASHES[k // len(_COLOURS) % len(_DASHES)], 1.4)
    return drawn


def delay_figure(cdfs: Mapping[str, DelayCdf], drawn: Mapping[str, Stroke], title: str) -> str:
    """Inline SVG of the share of packets sent that were heard within a delay, one curve per system.

    Args:
        cdfs: system -> distribution.
        drawn: system -> stroke; the last systems in it lie underneath.
        title: what the picture shows, above it.
    """
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        for layer, (system, stroke) in enumerate(reversed(list(drawn.items()))):
            (curve,) = axes.plot(GRID_MS, 100.0 * cdfs[system].share, color=stroke.colour, linewidth=stroke.width, zorder=3 + layer)
            if stroke.dashes:
                curve.set_dashes([float(part) for part in stroke.dashes.split()])
        axes.set_xlim(0.0, _reach_ms(cdfs))
        axes.set_ylim(0.0, 101.0)
        axes.set_title(title, loc="left", color=_INK, fontsize=10.0, fontweight="bold")
        axes.set_xlabel("end-to-end delay, ms", color=_INK)
        axes.set_ylabel("packets sent, %", color=_INK)
        axes.grid(color=_GRID, linewidth=0.6)
        axes.tick_params(colors=_INK, length=0.0)
        axes.spines[:].set_visible(False)
        svg = as_svg(figure, transparent=True)
    return svg[svg.index("<svg") :].replace(_INK, "var(--ink)").replace(_GRID, "var(--rule)")


def style() -> AbstractContextManager[None]:
    """The look of our figures, from making one until `as_svg` has drawn it."""
    return matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "vcgym", "font.family": "sans-serif", "font.size": 9.0})


def as_svg(figure: Figure, transparent: bool = False) -> str:
    """The figure as SVG text that holds neither date nor version."""
    drawing = StringIO()
    figure.savefig(drawing, format="svg", transparent=transparent, metadata={"Date": None, "Creator": None})
    return drawing.getvalue()


def _reach_ms(cdfs: Mapping[str, DelayCdf]) -> float:
    """First whole 100 ms by which every system has 99 % of what it will ever deliver."""
    reached = [GRID_MS[np.searchsorted(cdf.packets_within, 0.99 * cdf.packets_within[-1])] for cdf in cdfs.values()]
    return max(100.0, 100.0 * float(np.ceil(max(reached, default=0.0) / 100.0)))
