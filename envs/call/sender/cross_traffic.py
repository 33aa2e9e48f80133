"""Cross traffic at the bottleneck of a call, chosen by a class: flows alone, or flows and other calls (other_calls.py)."""

from typing import Any, NamedTuple

from vcgym.network.bottleneck.cross_traffic import run_flows
from vcgym.network.kernels.generic import generic


class Alone(NamedTuple):
    """Absence of other calls."""


@generic(abstract=True)
def run_beside(others: Any, dumbbell: Any, s: int, until_us: int) -> None:
    """Play all events beside the first call of bottleneck `s`, up to and at `until_us`."""


@run_beside.register(Alone)
def _alone(others, dumbbell, s, until_us):
    run_flows(dumbbell, s, until_us)
