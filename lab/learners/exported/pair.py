"""A learned pair as two ONNX files that run without this package and without torch, each at its own location."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.learners.exported.lag_graph import lag_graph
from lab.learners.exported.router_graph import router_graph
from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import System
from vcgym.network.traces.plain_file import replace_file

GRAPHS: dict[Control, Callable[[Any], bytes]] = {Control.PATH: router_graph, Control.PLAYOUT: lag_graph}
"""Control -> graph of its learned rule; the modules of the graphs list inputs and outputs."""


def export_pair(system: System, folder: Path) -> list[Path]:
    """Write the learned rule of each control as CONTROL.onnx into `folder` and return the files."""
    files = {folder / f"{control}.onnx": graph(system.rules[control]) for control, graph in GRAPHS.items()}
    for file, content in files.items():
        replace_file(file, content)
    return list(files)
