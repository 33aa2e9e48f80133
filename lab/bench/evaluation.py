"""Duration of the VCRoute paper's evaluation: 25 sessions of 600,000 packets, five systems, including world generation."""

from collections.abc import Iterator
from functools import partial

from lab.bench.measure import Effort, Measurement, duration
from lab.bench.packets import SYSTEMS, VCR_WM
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.together import batches_together, every_pair, play_together
from vcgym.network.scenarios.scenario import Scenario

PACKETS = 600_000
PAPER_SYSTEMS = [
    SYSTEMS["drt_bf"],
    SYSTEMS["drt_wm"],
    System(Via(), NetEqTarget()),
    SYSTEMS["via_wm"],
    VCR_WM,
]


def paper_evaluation(effort: Effort) -> Iterator[Measurement]:
    """Yield the seconds of the whole evaluation, with each world sampled once for all systems."""
    scenario = Scenario("wonderproxy", "paper", effort.part(PACKETS))
    draws = every_pair(scenario, 1)
    batches = batches_together(scenario, [system.rules for system in PAPER_SYSTEMS], len(draws))
    for threads in (1, 2):
        yield duration("paper_evaluation_s", partial(play_together, batches, draws, threads), effort, threads)
