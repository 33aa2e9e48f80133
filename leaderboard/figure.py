"""Delay distributions as SVG: the same bytes for the same counts, colours by style sheet so that they suit light and dark pages."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from io import StringIO
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vcgym.leaderboard.cdf import GRID_MS, DelayCdf
from vcgym.leaderboard.page.pareto import Point

_COLOURS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f", "#8a7a2f", "#4aa3b5", "#7a5fc0", "#8c8c8c")
_DASHES = ("", "6 2.5", "1.6 2")
_LEAST_PERCENT = 0.001  # a logarithmic axis has no zero
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
        _dress(axes, title, "end-to-end delay, ms", "packets sent, %")
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


def _dress(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", color=_INK, fontsize=10.0, fontweight="bold")
    axes.set_xlabel(across, color=_INK)
    axes.set_ylabel(up, color=_INK)
    axes.grid(color=_GRID, linewidth=0.6)
    axes.tick_params(colors=_INK, length=0.0, which="both")
    axes.spines[:].set_visible(False)


def _themed(svg: str) -> str:
    return svg[svg.index("<svg") :].replace(_INK, "var(--ink)").replace(_GRID, "var(--rule)")


def pareto_figure(points: Sequence[Point], drawn: Mapping[str, Stroke]) -> str:
    """Inline SVG of delay against loss: a mark per system, the front joined by a line and named, agents named."""
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        front = sorted((point for point in points if point.on_front), key=lambda point: point.delay_ms)
        axes.plot([p.delay_ms for p in front], [p.loss_percent for p in front], color=_INK, linewidth=0.8, drawstyle="steps-post", zorder=3)
        for point in points:
            marker = "D" if point.kind == "agent" else "s" if point.kind == "oracle" else "o"
            axes.plot(
                [point.delay_ms], [max(point.loss_percent, _LEAST_PERCENT)], marker, color=drawn[point.system].colour, markersize=5.0,
                zorder=5 if point.kind == "agent" else 4,
            )  # fmt: skip
        high = max((point.loss_percent for point in points), default=1.0)
        axes.set_yscale("log")
        axes.set_ylim(max(_LEAST_PERCENT, min((p.loss_percent for p in points), default=1.0)) * 0.7, high * 1.4)
        for number, point in enumerate(p for p in points if p.on_front or p.kind == "agent"):
            axes.annotate(
                point.system, (point.delay_ms, max(point.loss_percent, _LEAST_PERCENT)), xytext=(6, 6 if number % 2 else -9),
                textcoords="offset points", color=_INK, fontsize=8.0, zorder=6,
            )  # fmt: skip
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: "")
        _dress(axes, "Delay against loss: left and low is better", "mean end-to-end delay played, ms", "ticks concealed, %")
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


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
