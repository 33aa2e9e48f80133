"""Plans and path changes are counted as the paper counts them: against the packets sent."""

from typing import NamedTuple

import numpy as np
import pytest

from vcgym.baselines.fixed_lag import FixedLag
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.envs.batch import CallBatch
from vcgym.network.scenario import Scenario


class Scripted(NamedTuple):
    """Changes between two paths `changes` times in `packets` packets, evenly."""

    changes: int
    packets: int


class ScriptedState(NamedTuple):
    rows: np.ndarray


@implements(allocate, Scripted)
def _allocate(params, sessions, paths):
    return ScriptedState(np.zeros(sessions, np.int8))


@implements(init, Scripted)
def _init(params, state, s, history, key):
    pass


@implements(update, Scripted)
def _update(params, state, s, record):
    pass


@implements(decide, Scripted)
def _decide(params, state, s, slot):
    return slot * (params.changes + 1) // params.packets % 2


@pytest.mark.parametrize(("changes", "packets", "percent"), [(447, 30_000, 1.49), (34_020 // 20, 600_000 // 20, 5.67)])
def test_shares_as_printed(changes, packets, percent):
    """R7: 447 plans in 30,000 packets are 1.49 %; 34,020 path changes in 600,000 are 5.67 % (here a twentieth of that call)."""
    recipe = Scenario("wonderproxy", "paper", packets)
    batch = CallBatch(recipe, 1, Scripted(changes, packets), FixedLag(60.0), place="sender", probe_rate=0.0)
    batch.start(0, recipe.draw("train", 3))
    batch.play(np.array([0]))
    totals = batch.totals()
    assert totals.plans_sent[0] == totals.path_changes[0] == changes
    assert round(100.0 * totals.path_changes[0] / packets, 2) == percent
