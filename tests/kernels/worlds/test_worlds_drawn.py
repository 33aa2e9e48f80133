"""Worlds sampled in advance, in threads, and without the compiler: the same bytes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import DrawnWorld

PACKETS, BLOCKS = 1300, 3


def started(mode, sessions=4):
    scenario = Scenario("wonderproxy", mode, packets=PACKETS)
    world = scenario.world(sessions)
    draws = [scenario.draw("train", seed) for seed in range(sessions)]
    histories = [world.start(row, draw) for row, draw in enumerate(draws)]
    return world, draws, histories


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_a_drawn_world_shows_the_same_blocks_again_and_again(mode):
    rows = np.arange(4)
    plain, _, _ = started(mode)
    blocks = [plain.delay_us.copy()]
    for _ in range(BLOCKS - 1):
        plain.fill(rows)
        blocks.append(plain.delay_us.copy())
    world, draws, histories = started(mode)
    drawn = DrawnWorld(world, rows, BLOCKS)
    for _ in range(2):
        for row, draw in enumerate(draws):
            np.testing.assert_array_equal(drawn.start(row, draw), histories[row])
        np.testing.assert_array_equal(drawn.loaded, blocks)
        np.testing.assert_array_equal(drawn.delay_us, blocks[0])
    with pytest.raises(ValueError, match="block = 3: allowed is 0 to 2"):
        drawn.fill(rows)


def test_calls_over_a_drawn_world_are_the_same_calls():
    scenario = Scenario("wonderproxy", "correlated", packets=PACKETS)
    batch = CallBatch(scenario, 4, Direct(), WMJitter(), log=True)
    rows, draws = np.arange(4), [scenario.draw("train", seed) for seed in range(4)]

    def play():
        for row, draw in enumerate(draws):
            batch.start(row, draw)
        batch.play(rows)
        return batch.played()

    plain = play()
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.world = DrawnWorld(batch.world, rows, BLOCKS)
    for again in (play(), play()):
        np.testing.assert_array_equal(again.emitted_us, plain.emitted_us)
        np.testing.assert_array_equal(again.totals.return_emodel, plain.totals.return_emodel)


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_threads_do_not_show(mode):
    one, _, _ = started(mode, sessions=8)
    several, _, _ = started(mode, sessions=8)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            one.fill(np.arange(8))
            list(pool.map(several.fill, [np.array([row]) for row in (7, 3, 0, 1, 2, 6, 5, 4)]))
            np.testing.assert_array_equal(several.delay_us, one.delay_us)


BYTES = """
import hashlib
import numpy as np
from vcgym.network.worlds.quantiles import lognormal_table
from vcgym.network.worlds.world import WorldDraw
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.paper import Paper

layout = np.array([[0, -1, -1], [1, 2, -1], [1, 0, 2]])
paper = {"quantiles_ms": np.tile(lognormal_table(100.0, 3.0, 0.5), (3, 1)), "loss": 0.05}
correlated = {
    "base_ms": 50.0, "log_mean": 1.0, "log_sd": 0.5, "loss": 0.1, "loss_run": 5.0,
    "bad_from": -9999, "bad_to": np.array([9999, 300, -9999]), "tau_ms": 200.0, "shift_every_s": 10.0, "skew_ppm": 50.0,
    "events": [Event(0, 5, 300, add_ms=30_000.0, hold=True), Event(1, 100, 900, slope_ms_per_s=10.0, loss=0.5)],
}
for world, parameters in ((LinkWorld(Paper(), 1, layout), paper), (LinkWorld(Correlated(), 1, layout, events=2), correlated)):
    history = world.start(0, WorldDraw("a-b", "made", 2**64 - 1, parameters))
    world.fill(np.array([0]))
    print(hashlib.sha256(history.tobytes() + world.delay_us.tobytes()).hexdigest())
"""


def test_the_compiler_does_not_show():
    """Plain Python, the same bytes; numpy's wrapping of uint64 is meant, so that it may warn."""
    seen = []
    for environment in ({}, {"NUMBA_DISABLE_JIT": "1"}):
        command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", BYTES]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.split())
    assert seen[0] == seen[1] and len(set(seen[0])) == 2
