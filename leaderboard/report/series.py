"""Pictures of systems over time: those that the kind of a suite's calls has, with the board or on request.

Test cases of RFC 8867 and RFC 8869 are drawn in the style of the RMCAT working group: rate and queueing delay.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from vcgym.baselines.controls.control import added_stages
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import PlayedFlow
from vcgym.leaderboard.evaluation.kinds.sender import CASES, started_batch
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.traces.plain_file import replace_file

_COLOURS = ("#3b6fb6", "#d1782b", "#3f9464", "#b04a8f", "#8a7a2f")
_CAPACITY = "#8c8c8c"
_COLUMNS, _MAX_DELAY_MS = 5, 600.0
_BACKWARDS, _FORWARDS = "--", "-"
_SHADES = 48  # of the picture


def draw_flows(name: str, system: System, folder: Path, suite: Suite) -> Path:
    """Play one world of each case and write series-NAME.png: the delivered rate of up to five media flows above their queueing delay.

    Args:
        name: name of the system, for title and file.
        system: system with rules for rate and order.
        folder: folder for the picture.
        suite: suite of the cases.

    Returns:
        The path of the picture.
    """
    scenario = SendingScenario(suite.scenarios[0])
    links = [scenario.draw("train", 0, kind) for kind in scenario.kinds]
    rows = -(-len(links) // _COLUMNS)
    figure = Figure(figsize=(2.6 * _COLUMNS, 2.1 * rows), layout="constrained")
    figure.suptitle(
        f"{name}: Mbit/s delivered of each media flow, and ms of queueing, second by second; grey: capacity; dashed: way back, or second"
    )
    panels: Any = figure.subfigures(rows, _COLUMNS)
    for link, panel in zip(links, panels.flat, strict=False):
        batch = started_batch(system, [link])
        batch.play(np.arange(1))
        above, below = panel.subplots(2, sharex=True, gridspec_kw={"height_ratios": (2, 1)})
        above.set_title(link.name, fontsize=9)
        above.set_ylabel("Mbit/s", fontsize=7)
        below.set_ylabel("ms", fontsize=7)
        _draw(above, below, link, batch.flows(0))
    return save_small(figure, folder / f"series-{name}.png", 75, _SHADES)


def _draw(above: Axes, below: Axes, link: SharedLink, flows: list[PlayedFlow]) -> None:
    _draw_capacity(above, link.trace, link.seconds, _FORWARDS)
    for beside in (link.reverse, link.second):
        if beside is not None:
            _draw_capacity(above, beside.trace, link.seconds, _BACKWARDS)
    ends_s = np.arange(int(link.seconds) + 1)
    for flow, colour in zip(flows, _COLOURS, strict=False):
        arrived = flow.log[flow.log["arrived_us"] >= 0]
        at_s, style = arrived["arrived_us"] / 1e6 + flow.starts_s, _BACKWARDS if flow.backwards else _FORWARDS
        queueing_ms = (arrived["arrived_us"] - arrived["sent_us"]) / 1000.0 - flow.link.forward_ms
        packets, _ = np.histogram(at_s, ends_s)
        mbit, _ = np.histogram(at_s, ends_s, weights=8e-6 * arrived["size_bytes"])
        waited_ms, _ = np.histogram(at_s, ends_s, weights=queueing_ms)
        or_nan = np.where(packets > 0, packets, np.nan)  # nothing is drawn where nothing arrived
        above.plot(ends_s[:-1], mbit * packets / or_nan, style, color=colour, linewidth=0.9)
        below.plot(ends_s[:-1], waited_ms / or_nan, style, color=colour, linewidth=0.9)
    top_bps = float(link.trace.rates_bps.max()) if link.air is None else 1000.0 * link.rates_kbps[-1]  # a medium has many flows
    above.set(xlim=(0, link.seconds), ylim=(0, 1.05e-6 * top_bps))
    below.set_ylim(0, max(100.0, min(_MAX_DELAY_MS, below.dataLim.ymax)))
    for axes in (above, below):
        axes.tick_params(labelsize=7, length=2)
        axes.grid(color="#e8eaed", linewidth=0.5)


def _draw_capacity(axes: Axes, trace: CapacityTrace, seconds: float, style: str) -> None:
    times_s, mbps = [*(trace.times_us / 1e6), seconds], [*(trace.rates_bps / 1e6), trace.rates_bps[-1] / 1e6]
    axes.step(times_s, mbps, style, where="post", color=_CAPACITY, linewidth=1.2)


def save_small(figure: Figure, path: Path, dpi: int, shades: int) -> Path:
    """Write a figure as a PNG file and return its path.

    Args:
        figure: the figure.
        path: the file; its folder is made if it does not exist.
        dpi: pixels per inch.
        shades: number of colours, 1 to 256.
    """
    drawn, small = BytesIO(), BytesIO()
    figure.savefig(drawn, dpi=dpi, metadata={"Software": None})
    Image.open(drawn).quantize(shades).save(small, format="PNG", optimize=True)
    replace_file(path, small.getvalue())
    return path


Draw = Callable[[str, System, Path, Suite], Path]
"""Draws a system in worlds of a suite: its name, the system, a folder, the suite -> path of the picture."""


class Picture(NamedTuple):
    """Picture of a system over time.

    Attributes:
        draw: function that draws it.
        prefix: beginning of the name of its file, before that of the system.
        title: its title on the page of a board, with {system} for the name; "": it is on no page.
        note: smaller words after the title.
        about: description for those who do not see it, with {system} for the name.
    """

    draw: Draw
    prefix: str = ""
    title: str = ""
    note: str = ""
    about: str = ""


def pictures_of(suite: Suite) -> tuple[Picture, ...]:
    """Return the pictures that the kind of a suite's calls has."""
    if suite.kind == CASES:
        return (Picture(draw_flows),)
    return tuple(one for stage in added_stages() if resolve_name(stage.kind) == suite.kind for one in resolve_name(stage.pictures))


def pictures_of_pages() -> list[Picture]:
    """Return the pictures that pages of boards show."""
    return [one for stage in added_stages() for one in resolve_name(stage.pictures) if one.title]
