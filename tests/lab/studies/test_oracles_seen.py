"""An oracle's view of a world: every delay, but only the probability of losses; and no system beats its oracle."""

import numpy as np
import pytest

from lab.studies.headroom.check import TOLERANCE, compare
from lab.studies.oracles.seen import see
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import blocks

WORLDS = [("wonderproxy", "correlated"), ("table1", "correlated"), ("stress", "correlated"), ("table1", "paper"), ("synthetic-9", "paper")]


@pytest.mark.parametrize(("name", "mode"), WORLDS)
def test_delays_are_the_worlds_and_losses_come_as_often_as_said(name, mode):
    scenario, lost, said, packets = Scenario(name, mode, 3000), 0, 0.0, 0
    for seed in range(6):
        draw = scenario.draw("train", seed)
        world = scenario.world(1)
        world.start(0, draw)
        real_us = np.concatenate(list(blocks(world, 3000)), axis=1)[:, :3000]
        seen = see(scenario, draw)
        arrives = real_us != LOST
        assert (seen.delay_us[arrives] == real_us[arrives]).all()
        assert ((seen.chance >= 1.0) == (seen.delay_us == LOST)).all()
        assert not (arrives & (seen.chance >= 1.0)).any()
        # The direct path's links are its own, so that its losses are independent of one another.
        lost, said, packets = lost + (~arrives)[0].sum(), said + seen.chance[0].sum(), packets + 3000
    assert abs(lost - said) <= 5.0 * np.sqrt(said) + 1e-9


@pytest.mark.long
def test_no_system_beats_its_oracle():
    systems = {"DRT-WM": System(Direct(), WMJitter()), "VIA-FIX": System(Via(), FixedLag(60.0))}
    found = compare([Scenario(name, mode, 400) for name, mode in WORLDS], systems, 150, 2, lambda done, note: None)
    assert len(found) == 300
    over = [one for one in found if one.r > one.bound + TOLERANCE]
    assert not over
    assert np.mean([one.bound - one.r for one in found if np.isfinite(one.r)]) > 0.1
