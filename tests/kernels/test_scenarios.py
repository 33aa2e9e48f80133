"""Scenarios: every one draws, starts and plays in every mode; layouts, splits, strata and refusals are as declared."""

import itertools
import os

import numpy as np
import pytest

from vcgym.baselines.direct import Direct
from vcgym.baselines.wmjitter import WMJitter
from vcgym.envs.batch import CallBatch
from vcgym.network import splits
from vcgym.network.fitting_world import relayed_share
from vcgym.network.scenario import MODES, Scenario
from vcgym.network.scenarios.stress import STRESS
from vcgym.network.splits import SPLITS
from vcgym.network.strata import ALWAYS, HOUR_SLOTS, NATURAL, STRATA, natural_bad_hours
from vcgym.network.world import HISTORY_BLOCKS, BLOCK_SLOTS
from vcgym.network.world_links import DATA_CENTRES, load_sample, parse_sample, relays_of, split_of

PATHS = {
    "wonderproxy": 17, "cloud": 17, "table1": 5, "stress": 17, "leo": 5, "world": 101, "world-19": 362,
    "synthetic-9": 9, "synthetic-90": 90, "synthetic-900": 900,
}  # fmt: skip
DRAWN = [(name, mode) for name in PATHS for mode in MODES[name] if mode != "replay"]


def play(scenario, draws):
    batch = CallBatch(scenario, len(draws), Direct(), WMJitter(), log=True)
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.play(np.arange(len(draws)))
    return batch.played()
