"""An oracle's view of a world: every delay, but only the probability of losses; and no system beats its oracle."""

import numpy as np
import pytest

from lab.studies.oracles.joint import UNLIMITED
from lab.studies.oracles.rating import best_ratings
from lab.studies.oracles.seen import see
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World, blocks

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


class SeenWorld(World):
    """A seen world in which only certain losses occur; the others are hidden from the players too."""

    def __init__(self, seen):
        paths, packets = seen.delay_us.shape
        super().__init__(1, paths)
        self.history[0] = seen.history
        padded = np.full((paths, -(-packets // BLOCK_SLOTS) * BLOCK_SLOTS), LOST, np.int32)
        padded[:, :packets] = seen.delay_us
        self._blocks = iter(np.moveaxis(padded.reshape(paths, -1, BLOCK_SLOTS), 1, 0))

    def start(self, row, draw):
        self._begin(row, draw)
        return self.history[row].copy()

    def _begin(self, row, draw):
        self.fill(np.array([row]))

    def fill(self, which):
        self.delay_us[0] = next(self._blocks)


def expected_rating(seen, batch):
    """Return the expected R of the one call of a batch over the hidden losses, and its number of path changes."""
    played, totals = batch.played(), batch.played().totals
    emitted = played.played_us[0] >= 0
    hidden = seen.chance[played.path[0], np.arange(len(emitted))][emitted].sum()
    ticks = int(totals.ticks_played[0] + totals.ticks_stretched[0] + totals.ticks_concealed[0])
    changes = int(totals.path_changes[0])
    return (rating(totals.offset_us_sum[0] / ticks / 1000.0, (totals.ticks_concealed[0] + hidden) / ticks) if ticks else np.nan), changes


@pytest.mark.long
@pytest.mark.parametrize(("name", "mode"), WORLDS)
def test_no_system_beats_its_oracle(name, mode):
    scenario, limits, below = Scenario(name, mode, 400), (0, 1, 2, 6, UNLIMITED), []
    for seed in range(30):
        draw = scenario.draw("train", seed)
        seen = see(scenario, draw)
        best = best_ratings(seen, limits)
        for system in (System(Direct(), WMJitter()), System(Via(), FixedLag(60.0))):
            batch = CallBatch(scenario, 1, system.path, system.playout, log=True, world=SeenWorld(seen))
            batch.start(0, draw)
            batch.play(np.arange(1))
            r, changes = expected_rating(seen, batch)
            bound = next(one.bound for one, limit in zip(best, limits, strict=True) if limit == UNLIMITED or changes <= limit)
            assert not r > bound + 0.02  # rounding of float32 sums, and jumps of the player
            below.append(bound - r)
    assert np.nanmean(below) > 0.1
