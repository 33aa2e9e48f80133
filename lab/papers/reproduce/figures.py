"""Our versions of the paper's pictures: delay distributions (its Figures 9-13 and 17), relative errors (14), a call over time."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.papers.vcroute.forecasts import RELATIVE_ERRORS
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.report.figure import Stroke, as_svg, strokes, style
from vcgym.leaderboard.results.cdf import ACCOUNTINGS, GRID_MS
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split

DRAWN = ("DRT-BF", "DRT-WM", "VIA-BF", "VIA-WM", "VCR-BF", "VCR-WM")
STROKES = strokes(dict.fromkeys(DRAWN, "rule"))
SECONDS = 5  # length of the call over time


def distributions(title: str, panels: Sequence[tuple[str, pa.Table]]) -> str:
    """Return SVG of the share of sent packets emitted within a delay, a panel per (name, calls), a curve per system."""
    with style():
        figure = _figure(len(panels))
        for axes, (name, calls) in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
            reach = 100.0
            for system, stroke in STROKES.items():
                share = _share(calls.filter(pc.field("system") == system))
                _curve(axes, GRID_MS, 100.0 * share, stroke, system)
                reach = max(reach, float(GRID_MS[np.searchsorted(share, 0.99 * share[-1])]))
            axes.set_xlim(0.0, 100.0 * np.ceil(reach / 100.0))
            _dress(axes, name, "end-to-end delay, ms")
        return _finish(figure, title, "packets sent, %")


def relative_errors(title: str, curves: Sequence[tuple[str, pa.Table]]) -> str:
    """Return SVG of the share of packets with a relative forecast error up to a value, a curve per (name, calls)."""
    with style():
        figure = _figure(2)
        axes = figure.subplots()
        for (name, calls), stroke in zip(curves, strokes(dict.fromkeys([name for name, _ in curves], "rule")).values(), strict=True):
            counts = np.array(calls["relative_errors"].to_pylist()).sum(axis=0)
            _curve(axes, 100.0 * RELATIVE_ERRORS, 100.0 * counts / calls["packets"].to_numpy().sum(), stroke, name)
        axes.plot([10.0], [80.0], marker="+", color="#444444", markersize=9, linestyle="", label="published: more than this")
        _dress(axes, "", "relative error, %")
        return _finish(figure, title, "packets, %")


@unlock_test_split()
def over_time(title: str, scenario: Scenario, pair: str, systems: dict[str, System]) -> str:
    """Return SVG of the packets of the first seconds of a call: one-way delay and time to emission, a panel per system."""
    split = next(split for split in ("train", "validation", "test") if pair in scenario.pairs(split))
    draw = scenario.draw(split, 0, pair)
    with style():
        figure = _figure(len(systems))
        for axes, (name, system) in zip(figure.subplots(1, len(systems), sharey=True, squeeze=False)[0], systems.items(), strict=True):
            batch = CallBatch(scenario, 1, system.path, system.playout, log=True)
            batch.start(0, draw)
            batch.play(np.zeros(1, np.int64))
            played = batch.played()
            sent_us = np.arange(min(scenario.packets, SECONDS * 1_000_000 // SLOT_US), dtype=np.int64) * SLOT_US
            for end_us, label, colour in ((played.emitted_us[0], "until let go", "#d1782b"), (played.arrived_us[0], "one way", "#3b6fb6")):
                delay_ms = np.where(end_us[: len(sent_us)] >= 0, end_us[: len(sent_us)] - sent_us, np.nan) / 1000.0
                axes.plot(sent_us / 1e6, delay_ms, color=colour, linestyle="", marker=".", markersize=1.5, label=label)
            _dress(axes, name, "sent, s")
        return _finish(figure, title, "delay, ms")


def _share(calls: pa.Table) -> np.ndarray:
    within = np.array(calls[f"{ACCOUNTINGS[0]}_packets_within"].to_pylist()).sum(axis=0)
    return within / max(1, calls[f"{ACCOUNTINGS[0]}_packets_sent"].to_numpy().sum())


def _curve(axes: Axes, x: np.ndarray, y: np.ndarray, stroke: Stroke, label: str) -> None:
    (curve,) = axes.plot(x, y, color=stroke.colour, linewidth=stroke.width, label=label)
    if stroke.dashes:
        curve.set_dashes([float(part) for part in stroke.dashes.split()])


def _figure(panels: int) -> Figure:
    return Figure(figsize=(2.6 * panels + 1.4, 2.7), layout="constrained", facecolor="white")


def _dress(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=9.0)
    axes.set_xlabel(unit)
    axes.set_ylim(bottom=0.0)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.tick_params(length=0.0)
    axes.spines[:].set_visible(False)


def _finish(figure: Figure, title: str, unit: str) -> str:
    figure.suptitle(title, x=0.01, ha="left", fontsize=10.0, fontweight="bold")
    figure.axes[0].set_ylabel(unit)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    svg = as_svg(figure)
    return svg[svg.index("<svg") :]
