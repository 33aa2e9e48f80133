"""Plots of a call with axes, units and a legend. They show ground truth that agents cannot observe.

Only drawing needs and imports matplotlib, which is part of the extra `video`.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO, item_at
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US

if TYPE_CHECKING:
    from vcgym.envs.call.sender.batch import SendingBatch

INCHES, DOTS_PER_INCH = (7.2, 4.0), 100
RENDER_MODES = ("rgb_array", "human")
_OTHERS, _IN_FORCE, _LAG, _LOST = "#b8bec6", "#1f4ea1", "#c83c28", "#222222"


def draw_paths(axes: Any, batch: CallBatch, row: int) -> None:
    """Draw the delays of all paths in the world's current block up to now, and the receiver's lag above the path in use."""
    call = batch.calls[row]
    past = min(int(call.slot) - int(call.block) * BLOCK_SLOTS, BLOCK_SLOTS)
    seconds = (int(call.block) * BLOCK_SLOTS + np.arange(past)) * SLOT_US / 1e6
    delays = batch.world.delay_us[row, :, :past]
    shown_ms = np.where(delays == LOST, np.nan, delays / 1000.0)
    used = int(call.to_sender.in_force)
    label = f"the other {len(shown_ms) - 1} paths"
    for path, delay_ms in enumerate(shown_ms):
        if path != used:
            axes.plot(seconds, delay_ms, color=_OTHERS, linewidth=0.7, label=label)
            label = "_nolegend_"
    name = batch.scenario.layout.path_names[used]
    axes.plot(seconds, shown_ms[used], color=_IN_FORCE, linewidth=1.6, label=f"path in use: {name}")
    axes.plot(seconds, shown_ms[used] + int(call.receiver.level_us) / 1000.0, color=_LAG, linewidth=1.0, label="... and the receiver's lag")
    lost = np.flatnonzero(delays[used] == LOST)
    axes.plot(seconds[lost], np.zeros(len(lost)), "x", color=_LOST, markersize=4, label="packet lost on the path in use")
    start = int(call.block) * BLOCK_SLOTS * SLOT_US / 1e6
    highest = np.nanquantile(shown_ms, 0.98) if np.isfinite(shown_ms).any() else 100.0
    axes.set(xlim=(start, start + BLOCK_SLOTS * SLOT_US / 1e6), ylim=(0.0, max(200.0, 1.6 * highest)))
    draw = batch.draws[row]
    axes.set(xlabel="time in the call (s)", ylabel="delay of a packet (ms)", title=f"{draw.pair}, stratum {draw.stratum}" if draw else "")


def draw_sender(axes: Any, batch: "SendingBatch", row: int) -> None:
    """Draw the mean target of each second so far, on a log scale between the call's bounds."""
    sender, targets = batch.senders[row], batch.tables.targets[row]
    done = int(sender.now_us) // 1_000_000
    axes.step(np.arange(done), targets[:done] / 1000.0, where="post", color=_IN_FORCE, linewidth=1.6, label="target bitrate")
    for bound, label in ((sender.min_bps, "smallest and largest target allowed"), (sender.max_bps, "_nolegend_")):
        axes.axhline(bound / 1000.0, color=_OTHERS, linewidth=1.0, label=label)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda kbps, _: f"{kbps:g}")
    link = batch.links[row]
    axes.set(xlim=(0, len(targets)), xlabel="time in the call (s)", ylabel="target bitrate (kbit/s)", title=link.name if link else "")


def draw_queue(axes: Any, batch: "SendingBatch", row: int) -> None:
    """Draw the time that each queued packet has left, oldest first, and the time that a packet needs on its way."""
    sender = batch.senders[row]
    packets = [item_at(sender.queue, i) for i in range(int(sender.queue.waiting))]
    for kind, label, color in ((AUDIO, "audio", _IN_FORCE), (VIDEO, "video", _OTHERS)):
        positions = [position for position, packet in enumerate(packets, 1) if packet.kind == kind]
        left_ms = [(packets[position - 1].expires_us - sender.now_us) / 1000.0 for position in positions]
        axes.bar([0, *positions], [0.0, *left_ms], color=color, label=label)  # position 0 is out of sight and keeps the legend complete
    axes.axhline(sender.rtt_us / 2000.0, color=_LAG, linewidth=1.0, label="half the measured round trip: below it, likely too late")
    link = batch.links[row]
    title = f"{link.name}, {int(sender.now_us) / 1e6:.1f} s into the call" if link else ""
    axes.set(xlim=(0.4, int(sender.queue.limit) + 0.6), ylim=(min(0.0, axes.get_ylim()[0]), 1.4 * sender.expiry_us / 1000.0))
    axes.set(xlabel="position in the send queue, oldest first", ylabel="time left until it must arrive (ms)", title=title)


class Rendered:
    """Environment that draws itself.

    Args:
        render_mode: rgb_array, human or None.

    Raises:
        ValueError: another render mode.
    """

    def __init__(self, render_mode: str | None) -> None:
        if render_mode is not None:
            one_of("render_mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self._figure: Any = None

    @abstractmethod
    def _draw(self, axes: Any) -> None:
        """Draw the present state."""

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture, (height, width, 3); in mode human show it; None without a render mode."""
        if self.render_mode is None:
            return None
        in_window = self.render_mode == "human"
        self._figure = self._figure or _new_figure(in_window)
        self._figure.clear()
        axes = self._figure.add_subplot()
        self._draw(axes)
        axes.legend(loc="upper right", fontsize="small")
        axes.grid(color="#e8eaed")
        if in_window:
            from matplotlib import pyplot

            pyplot.pause(0.001)
            return None
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(self._figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def close(self) -> None:
        """Close the window of mode human."""
        if self._figure is not None and self.render_mode == "human":
            from matplotlib import pyplot

            pyplot.close(self._figure)
        self._figure = None

    def _show(self) -> None:
        """Update the window, which gymnasium and PettingZoo expect in mode human after every step."""
        if self.render_mode == "human":
            self.render()


def _new_figure(in_window: bool) -> Any:
    size: dict[str, Any] = {"figsize": INCHES, "dpi": DOTS_PER_INCH, "layout": "constrained"}
    if in_window:
        from matplotlib import pyplot

        return pyplot.figure(**size)
    from matplotlib.figure import Figure

    return Figure(**size)
