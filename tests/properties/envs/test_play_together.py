"""Systems that share a world give the same bytes as each alone, on any number of threads."""

import numpy as np
import pytest

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.together import batches_together, play_together
from vcgym.network.scenarios.scenario import Scenario

PAIRS = [(Direct(), WMJitter()), (RoundRobin(), NetEqTarget()), (Via(), WMJitter())]


def bytes_of(batch):
    played = batch.played()
    parts = [*played.totals, played.path, played.arrived_us, played.emitted_us, played.flushed, played.played_us, played.windows]
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_together_equals_alone(mode, threads):
    scenario = Scenario("wonderproxy", mode, 1200)
    draws = [scenario.draw("validation", seed) for seed in range(5)]
    shared = batches_together(scenario, [System(*pair).rules for pair in PAIRS], len(draws), log=True)
    for _ in range(2):  # a batch can be played again
        play_together(shared, draws, threads)
    for (router, receiver), batch in zip(PAIRS, shared, strict=True):
        alone = CallBatch(scenario, len(draws), router, receiver, log=True)
        for row, draw in enumerate(draws):
            alone.start(row, draw)
        alone.play(np.arange(len(draws)))
        assert bytes_of(batch) == bytes_of(alone)
