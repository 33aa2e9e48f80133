"""A learned pair as two ONNX files that run without this package and without torch, each at its own location."""

from pathlib import Path

from vcgym.agents.exported.lag_graph import lag_graph
from vcgym.agents.exported.router_graph import router_graph
from vcgym.baselines.systems import System
from vcgym.network.traces.plain_file import replace_file

ROUTER, RECEIVER = "router.onnx", "receiver.onnx"


def export_pair(system: System, folder: Path) -> tuple[Path, Path]:
    """Write router and receiver of a learned pair into `folder` and return both files; the graph modules list inputs and outputs."""
    graphs = {folder / ROUTER: router_graph(system.path), folder / RECEIVER: lag_graph(system.playout)}
    for file, content in graphs.items():
        replace_file(file, content)
    return folder / ROUTER, folder / RECEIVER
