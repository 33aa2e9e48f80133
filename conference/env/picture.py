"""Plot of a conference: its network with the load of each link, and the largest tree of each session. It shows what no party observes."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.topology import Topology
from vcgym.envs.environments.render import RENDER_MODES

RENDER: dict[str, Any] = {"render_modes": [*RENDER_MODES], "render_fps": 3}
_SESSIONS = ("#1f4ea1", "#d1782b", "#3f9464", "#b04a8f", "#8a7a2f", "#4aa3b5", "#7a5fc0", "#222222")
_LOADS = ((0.9, "#c83c28"), (0.5, "#e8a33d"), (0.0, "#b8bec6"))  # shares of the capacity from which a link has a color
_APART = 0.04  # of the two directions of a link


def draw_conference(
    axes: Any, topology: Topology, loads: NDArray[np.float64], trees: NDArray[np.int16], session_kbps: NDArray[np.float64]
) -> None:  # fmt: skip
    """Draw routers within a circle of parties, links by load, and a tree of each session as arrows from its source.

    Args:
        axes: matplotlib axes.
        topology: network.
        loads: (L,), load of each physical link as a share of its capacity.
        trees: (P, P), parents of a tree of each session; negative: none.
        session_kbps: (P,), rates of the sessions, for the legend.
    """
    at = positions(topology)
    for (tail, head, *_), load in zip(topology.links, loads, strict=True):
        (x, y), (to_x, to_y) = _shifted(at[tail], at[head])
        color = next(color for share, color in _LOADS if load >= share)
        axes.plot([x, to_x], [y, to_y], color=color, linewidth=1.0 + 4.0 * min(load, 1.0), solid_capstyle="butt", zorder=1)
    for m, (tree, kbps) in enumerate(zip(trees, session_kbps, strict=True)):
        color, name = _SESSIONS[m % len(_SESSIONS)], topology.parties[m]
        axes.plot([], [], color=color, label=f"{name}: {kbps:.0f} kbit/s")
        for child, parent in enumerate(tree):
            if parent >= 0:
                bend = {"arrowstyle": "-|>", "color": color, "alpha": 0.8, "shrinkA": 9, "shrinkB": 9}
                bend["connectionstyle"] = f"arc3,rad={0.12 + 0.04 * (m % 4)}"
                axes.annotate("", at[topology.parties[child]], at[topology.parties[parent]], arrowprops=bend, zorder=2)
    for name, where in at.items():
        box = {"boxstyle": "circle" if name in topology.parties else "square", "facecolor": "white", "edgecolor": "#222222"}
        axes.annotate(name, where, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    for share, color in _LOADS[:2]:
        axes.plot([], [], color=color, linewidth=4.0, label=f"link loaded by {100 * share:.0f} % or more")
    axes.set(xlim=(-1.2, 3.0), ylim=(-1.15, 1.15), aspect="equal")
    axes.set_axis_off()


def positions(topology: Topology) -> dict[str, tuple[float, float]]:
    """Return coordinates of all nodes: routers on a circle of radius 0.5, parties at 1 near the router of their first link."""
    found, homes = {}, {link.tail: link.head for link in reversed(topology.links) if link.head in topology.routers}
    for k, router in enumerate(topology.routers):
        angle, sector = 2.0 * math.pi * (k + 0.5) / len(topology.routers), 2.0 * math.pi / len(topology.routers)
        found[router] = (0.5 * math.cos(angle), 0.5 * math.sin(angle))
        guests = [party for party in topology.parties if homes[party] == router]
        for i, party in enumerate(guests):
            turned = angle + 0.8 * sector * ((i + 0.5) / len(guests) - 0.5)
            found[party] = (math.cos(turned), math.sin(turned))
    return found


def _shifted(tail: tuple[float, float], head: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of a link, shifted to the right of its direction."""
    x, y = head[0] - tail[0], head[1] - tail[1]
    length = max(math.hypot(x, y), 1e-9)
    aside = (0.5 * _APART * y / length, -0.5 * _APART * x / length)
    return (tail[0] + aside[0], tail[1] + aside[1]), (head[0] + aside[0], head[1] + aside[1])
