"""Figures of a board as SVG: the same bytes for the same counts; a style sheet sets colours for light and dark pages."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from io import StringIO
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import Line
from vcgym.leaderboard.report.page.picture import robust
from vcgym.leaderboard.report.scores import Point
from vcgym.leaderboard.report.words.names import is_own
from vcgym.leaderboard.results.cdf import GRID_MS, DelayCdf
from vcgym.leaderboard.results.columns import Column, Columns, DelayLoss

_COLOURS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f", "#8a7a2f", "#4aa3b5", "#7a5fc0", "#8c8c8c")
_DASHES = ("", "6 2.5", "1.6 2", "8 2 1.6 2", "3 3")
_MIN_PERCENT = 0.001  # lower end, since a logarithmic axis has no zero
_OWN_COLOUR = "#c8283c"
_MARK = 4.0  # half the width of a mark on the sheet, in dots
_INK, _GRID, _SOFT = "#010203", "#040506", "#070809"  # placeholders for the page's own colours


class Stroke(NamedTuple):
    """Line of one system in figures and legends: colour, SVG dash pattern ("" = solid) and width in points."""

    colour: str
    dashes: str
    width: float


def strokes(kinds: Mapping[str, str], first: Collection[str] = ()) -> dict[str, Stroke]:
    """Return a stroke for each system (name -> kind): the user's own red, others by colour, then dashes (40, starting with `first`).

    Agents are thick.
    """
    own = sorted(system for system, kind in kinds.items() if is_own(system, kind))
    others = sorted(set(kinds) - set(own), key=lambda system: (system not in first, system))
    drawn = {system: Stroke(_OWN_COLOUR, _DASHES[k % len(_DASHES)], 2.6) for k, system in enumerate(own)}
    for k, system in enumerate(others):
        width = 2.6 if kinds[system] in AGENT_KINDS else 1.4
        drawn[system] = Stroke(_COLOURS[k % len(_COLOURS)], _DASHES[k // len(_COLOURS) % len(_DASHES)], width)
    return drawn


def delay_figure(cdfs: Mapping[str, DelayCdf], drawn: Mapping[str, Stroke], title: str) -> str:
    """Return inline SVG of the share of sent packets received within a delay, one curve per system.

    Args:
        cdfs: system -> distribution.
        drawn: system -> stroke; the first ones are on top, and other systems are below all of them, thin and grey.
        title: title above the picture.
    """
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        _curves(axes, GRID_MS, {system: cdf.share for system, cdf in cdfs.items()}, drawn)
        axes.set_xlim(0.0, _reach_ms({system: cdf for system, cdf in cdfs.items() if system in drawn}))
        _dress(axes, title, "end-to-end delay, ms", "packets sent, %")
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


def profile_figure(column: Column, thresholds: np.ndarray, shares: Mapping[str, np.ndarray], drawn: Mapping[str, Stroke]) -> str:
    """Return inline SVG of the share of worlds above each threshold of a column, one curve per system; `drawn`: see `delay_figure`."""
    across = column.factor * thresholds
    margin = 2.0 * (across[1] - across[0])
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        _curves(axes, across, shares, drawn)
        seen = np.array([share for system, share in shares.items() if system in drawn])
        inside = across[(seen.min(axis=0) < 1.0) & (seen.max(axis=0) > 0.0)] if len(seen) else across
        axes.set_xlim(*(inside.min() - margin, inside.max() + margin) if inside.size else (across[0], across[-1]))
        _dress(axes, "Performance profile: up and right is better", column.heading, "worlds above it, %")
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


def _curves(axes: Axes, across: np.ndarray, shares: Mapping[str, np.ndarray], drawn: Mapping[str, Stroke]) -> None:
    for system in sorted(set(shares) - set(drawn)):
        axes.plot(across, 100.0 * shares[system], color=_SOFT, linewidth=0.5, alpha=0.45, zorder=2)
    for layer, (system, stroke) in enumerate(reversed(list(drawn.items()))):
        (curve,) = axes.plot(across, 100.0 * shares[system], color=stroke.colour, linewidth=stroke.width, zorder=3 + layer)
        if stroke.dashes:
            curve.set_dashes([float(part) for part in stroke.dashes.split()])
    axes.set_ylim(0.0, 101.0)


def _dress(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", color=_INK, fontsize=10.0, fontweight="bold")
    axes.set_xlabel(across, color=_INK)
    axes.set_ylabel(up, color=_INK)
    axes.grid(color=_GRID, linewidth=0.6)
    axes.tick_params(colors=_INK, length=0.0, which="both")
    axes.spines[:].set_visible(False)


def _themed(svg: str) -> str:
    return svg[svg.index("<svg") :].replace(_INK, "var(--ink)").replace(_GRID, "var(--rule)").replace(_SOFT, "var(--soft)")


def pareto_figure(front: Mapping[str, Point], kinds: Mapping[str, str], drawn: Mapping[str, Stroke], plane: DelayLoss) -> str:
    """Return inline SVG of delay against loss: a mark per system, the front as steps, names for systems on the front and agents.

    Args:
        front: systems in `plane`.
        kinds: kind of each system.
        drawn: see `delay_figure`.
        plane: delay and loss.
    """
    places = {name: (point.delay_ms.value, max(100.0 * point.loss.value, _MIN_PERCENT)) for name, point in front.items()}
    places = {name: at for name, at in places.items() if np.isfinite(at).all()}
    reach_ms = robust([front[name].delay_ms for name in places], better=-1).high
    beyond = sorted(name for name, (delay_ms, _) in places.items() if delay_ms > reach_ms)
    places = {name: at for name, at in places.items() if name not in beyond}
    ahead = sorted((name for name in places if front[name].on_front), key=lambda name: places[name])
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        steps = [[places[name][axis] for name in ahead] for axis in (0, 1)]
        axes.plot(*steps, color=_INK, linewidth=0.8, drawstyle="steps-post")
        for name, (delay_ms, percent) in places.items():
            agent, colour = kinds[name] in AGENT_KINDS, drawn[name].colour if name in drawn else _SOFT
            axes.plot([delay_ms], [percent], "D" if agent else "o", color=colour, markersize=5.0, zorder=5 if agent else 4)
        wanted = dict.fromkeys([*(name for name in places if kinds[name] in AGENT_KINDS), *ahead])
        axes.set_yscale("log")
        percents = [percent for _, percent in places.values()] or [1.0]
        axes.set_ylim(min(percents) * 0.6, max(percents) * 1.6)
        axes.margins(x=0.12)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: "")
        if beyond:
            words = f"further right: {', '.join(beyond[:3])}{f' and {len(beyond) - 3} more' if len(beyond) > 3 else ''} \u203a"
            label = axes.annotate(words, (1.0, 0.99), xycoords="axes fraction", ha="right", va="top", color=_SOFT, fontsize=7.0)
            label.set_in_layout(False)
        _dress(axes, "Delay against loss: left and low is better", f"{plane.delay_label}, ms", f"{plane.loss_label}, %")
        _name(figure, list(wanted), places)
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


def price_figure(lines: Sequence[Line], columns: Columns) -> str:
    """Return inline SVG of the ranked metric against what systems pay for it; steps join those that no other one dominates."""
    paid, ranked = columns.metric[columns.price], columns.primary
    places = {line.system: (paid.factor * line.found[paid.name].value, ranked.factor * line.found[ranked.name].value) for line in lines}
    in_order = sorted(places, key=lambda name: (places[name][0], -places[name][1]))
    best = np.maximum.accumulate([places[name][1] for name in in_order])
    ahead = [in_order[0], *(name for name, before in zip(in_order[1:], best, strict=False) if places[name][1] > before)]
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(*zip(*(places[name] for name in ahead), strict=True), color=_INK, linewidth=0.8, drawstyle="steps-post")
        for name, at in places.items():
            axes.plot(*at, "o", color=_INK if name in ahead else _SOFT, markersize=5.0)
        axes.margins(0.12)
        _dress(axes, f"{ranked.label} against {paid.label}: left and high is better", f"{paid.label}, {paid.unit}", ranked.heading)
        _name(figure, [*ahead, *(name for name in in_order if name not in ahead)], places)
        svg = as_svg(figure, transparent=True)
    return _themed(svg)


def _name(figure: Figure, names: list[str], places: Mapping[str, tuple[float, float]]) -> None:
    """Write each name next to its mark, where it covers no mark and no earlier text; a name without such a place is left out."""
    (axes,) = figure.axes
    figure.draw_without_rendering()  # lays out, so that places on the sheet are known
    marks = axes.transData.transform(list(places.values()))
    taken = [text.get_window_extent() for text in axes.texts]
    taken += [Bbox.from_bounds(x - _MARK, y - _MARK, 2.0 * _MARK, 2.0 * _MARK) for x, y in marks]
    for name in names:
        for right, up in itertools.product((True, False), (5.0, -11.0, -3.0, 14.0, -20.0)):
            offset, side = (6.0 if right else -6.0, up), "left" if right else "right"
            text = axes.annotate(name, places[name], xytext=offset, textcoords="offset points", ha=side, color=_INK, fontsize=8.0, zorder=6)
            box = text.get_window_extent()
            if axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1 and not any(map(box.overlaps, taken)):
                taken.append(box.expanded(1.1, 1.0))  # the fonts of a browser may be wider
                break
            text.remove()


def style() -> AbstractContextManager[None]:
    """Return the style of our figures as a context; it must be active until `as_svg` has drawn the figure."""
    return matplotlib.rc_context(
        {
            "svg.fonttype": "none", "svg.hashsalt": "vcgym", "font.family": "sans-serif", "font.size": 9.0,
            "text.parse_math": False,  # a name may have a dollar sign
        }
    )  # fmt: skip


def as_svg(figure: Figure, transparent: bool = False) -> str:
    """Return the figure as SVG text without date or version."""
    drawing = StringIO()
    figure.savefig(drawing, format="svg", transparent=transparent, metadata={"Date": None, "Creator": None})
    return drawing.getvalue()


def _reach_ms(cdfs: Mapping[str, DelayCdf]) -> float:
    """Return the first multiple of 100 ms at which every system has delivered 99 % of its final share."""
    reached = [GRID_MS[np.searchsorted(cdf.packets_within, 0.99 * cdf.packets_within[-1])] for cdf in cdfs.values()]
    return max(100.0, 100.0 * float(np.ceil(max(reached, default=0.0) / 100.0)))
