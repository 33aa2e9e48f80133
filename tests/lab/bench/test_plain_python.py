"""The plain Python forwarder of the benchmark does the same work as the compiled loop."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lab.bench.plain import forward
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World


class Given(World):
    """One path, whose delays are given."""

    def __init__(self, delays_us, paths):
        super().__init__(1, paths)
        self.blocks = np.full((-(-len(delays_us) // BLOCK_SLOTS), BLOCK_SLOTS), -1, np.int64)
        self.blocks.flat[: len(delays_us)] = delays_us
        self.block = -1

    def _begin(self, row, draw):
        raise NotImplementedError

    def start(self, row, draw):
        self.fill(np.array([0]))
        return np.tile([1024.0, 100.0, 10.0], (self.paths, 1))

    def fill(self, which):
        self.block += 1
        self.delay_us[:] = self.blocks[self.block]


def compiled(delays_us):
    scenario = Scenario("table1", "paper", len(delays_us))
    batch = CallBatch(scenario, 1, Direct(), WMJitter(), log=True, world=Given(delays_us, scenario.paths))
    batch.start(0, scenario.draw("train", 0))
    batch.play(np.array([0]))
    return batch.played()


def assert_equal(delays_us):
    played, heard = compiled(delays_us), forward(delays_us)
    assert np.where(played.flushed, -1, played.emitted_us)[0].tolist() == heard.emitted_us
    assert played.played_us[0].tolist() == heard.played_us
    totals = played.totals
    assert int(totals.ticks_played[0] + totals.ticks_stretched[0] + totals.ticks_concealed[0]) == heard.sounding_ticks
    assert (int(totals.ticks_concealed[0]), int(totals.offset_us_sum[0])) == (heard.concealed_ticks, heard.offset_us_sum)


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_on_drawn_worlds(mode):
    for seed in range(3):
        scenario = Scenario("wonderproxy", mode, 1000)
        world = scenario.world(1)
        world.start(0, scenario.draw("train", seed))
        blocks = [world.delay_us[0, 0].copy()]
        world.fill(np.array([0]))
        blocks.append(world.delay_us[0, 0].copy())
        assert_equal(np.concatenate(blocks)[:1000].tolist())


edges = st.sampled_from([-1, 10_000, 50_000, 1_000_000, 2_500_000])
delays = st.lists(st.one_of(st.integers(1, 3_000_000), edges), min_size=1, max_size=700)


@settings(max_examples=60)
@given(delays)
@example([-1] * 300)
@example([1] * 600)
@example([max(1, 6_000_000 - 10_000 * k) for k in range(700)])
def test_on_any_delays(delays_us):
    assert_equal(delays_us)
