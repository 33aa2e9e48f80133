"""A third-party package: a router, a rate controller, a feature, a reward and a scenario, provided as entry points."""

import hashlib
from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, Rows, allocate, init, record, rule, update
from vcgym.envs.call.features.added import PATHS, added_feature, measure
from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.rewards.reward import PATHS as OF_PATHS
from vcgym.envs.call.rewards.reward import earned, reward
from vcgym.network.scenarios.paths.synthetic import normal_table
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper

ENTRY_POINTS = """
[vcgym.rules]
newest-best = stranger:NewestBest
half-rate = stranger:HalfRate
[vcgym.features]
late-of-path = stranger:LateOfPath
[vcgym.rewards]
steady = stranger:Steady
[vcgym.scenarios]
two-roads = stranger:TwoRoads
"""


@record
class Arm:
    """State of a path."""

    delay_ms: float = 0.0


@rule(Control.PATH, arms=Rows(Arm))
class NewestBest(NamedTuple):
    """Take the path whose newest packet was fastest."""

    def init(self, arms, start, key):
        for path in range(arms.size):
            arms[path].delay_ms = start.mean_ms[path]

    def update(self, arms, record):
        arms[record.path].delay_ms = (record.arrived_us - record.sent_us) / 1000.0

    def decide(self, arms, now_us):
        best = 0
        for path in range(1, arms.size):
            if arms[path].delay_ms < arms[best].delay_ms:
                best = path
        return best


@record
class Flow:
    """State of a session."""

    target_bps: float = 0.0


@rule(Control.RATE, learns=False, flow=Flow)
class HalfRate(NamedTuple):
    """Send at a share of the rate that the call begins with."""

    share: float = 0.5

    def init(self, flow, start, key):
        flow.target_bps = self.share * start.start_bps

    def decide(self, flow, now_us):
        return np.int64(flow.target_bps)


@added_feature(PATHS, Feature("late_of_path", "share of records", 0, 1, "newest_age"))
class LateOfPath(NamedTuple):
    """Smoothed share of a path's packets that were discarded."""

    gain: float = 0.05


@allocate.register(LateOfPath)
def _allocate(params, sessions, paths):
    return np.zeros((sessions, paths))


@init.register(LateOfPath)
def _init(params, state, s, start, key):
    state[s, :] = 0.0


@update.register(LateOfPath)
def _update(params, state, s, record):
    state[s, record.path] += params.gain * (record.late - state[s, record.path])


@measure.register(LateOfPath)
def _measure(params, state, s, now_us, out):
    for path in range(out.size):
        out[path] = state[s, path]


@reward(OF_PATHS, concealed=0, changes=0)
class Steady(NamedTuple):
    """A price per tick concealed and per change of path."""

    price: float = 0.1


@earned.register(Steady)
def _earned(reward, state, accounts, s):
    counters = accounts.calls[s].counters
    concealed, changes = counters.ticks_concealed - state[s].concealed, counters.path_changes - state[s].changes
    state[s].concealed, state[s].changes = counters.ticks_concealed, counters.path_changes
    return -concealed - reward.price * changes


class TwoRoads(Recipe):
    """A slow and steady path beside a fast and shaky one."""

    modes = ("paper",)

    def __init__(self, settings):
        self.strata = {"independent": 1.0}
        self.layout = Layout(("steady", "shaky"), np.arange(2)[:, None], hashlib.sha256(b"two roads").hexdigest())

    def pairs(self, split):
        return ["here-there"]

    def world(self, sessions):
        return LinkWorld(Paper(), sessions, self.layout.path_links)

    def parameters(self, split, pair, stratum, draws):
        return {"quantiles_ms": np.array([normal_table(120.0, 5.0), normal_table(80.0, 60.0)]), "loss": np.zeros(2)}
