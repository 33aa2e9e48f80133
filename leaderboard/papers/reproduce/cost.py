"""Measured time per packet: an upper bound to compare with the paper's cost of choosing a path."""

import math
import time

import numpy as np

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split

_PACKETS = 20_000


@unlock_test_split()
def packet_cost_ms(system: System) -> float:
    """Measure the time per packet of a call over 17 paths (router, receiver, player and world), rounded up to a power of ten.

    Measured times vary; the rounded value is stable enough to be compared.
    """
    scenario = Scenario("wonderproxy", "paper", _PACKETS)
    batch = CallBatch(scenario, 1, system.path, system.playout)
    best = math.inf
    for _ in range(3):
        batch.start(0, scenario.draw("train", 0))
        began = time.thread_time()
        batch.play(np.zeros(1, np.int64))
        best = min(best, time.thread_time() - began)
    return 10.0 ** math.ceil(math.log10(1000.0 * best / _PACKETS))
