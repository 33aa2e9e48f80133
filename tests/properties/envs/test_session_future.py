"""A change of all delays after a slot changes nothing that has reached the agent before: every environment, every mode."""

import functools

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode
from untrained import random_network

from vcgym.baselines.systems import load_system
from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.scenario import Scenario

WORLDS = [  # of each mode one; the others by `long` and `data`
    ("wonderproxy", "correlated"),
    ("table1", "paper"),
    ("leo", "replay"),
    pytest.param("wonderproxy", "paper", marks=pytest.mark.long),
    pytest.param("table1", "correlated", marks=pytest.mark.long),
    pytest.param("leo", "measured", marks=pytest.mark.data),
]
PACKETS = 720
_MEASURED = functools.cache(leo.measured)  # read once
BORDERS = [0, 137, BLOCK_SLOTS, BLOCK_SLOTS + 60]  # first slot that is changed


class ChangedWorld:
    """A world whose delays are others from slot `border` on."""

    def __init__(self, world, border):
        self.world, self.border = world, border
        self.block = np.zeros(len(world.delay_us), np.int64)

    def __getattr__(self, name):
        return getattr(self.world, name)

    def start(self, row, draw):
        history = self.world.start(row, draw)
        self.block[row] = 0
        self._change(row)
        return history

    def fill(self, which):
        self.world.fill(which)
        self.block[which] += 1
        for row in which:
            self._change(row)

    def _change(self, row):
        delays = self.world.delay_us[row]
        first = max(self.border - self.block[row] * BLOCK_SLOTS, 0)
        changed = delays[:, first:] // 1000 + 7  # at once, and what was lost arrives
        changed[:, 1::5] = LOST
        delays[:, first:] = changed


def now_us(env):
    """When each session is asked: the slot at the router's location, the arrival at the receiver."""
    calls = env.batch.calls
    if not env.at_arrivals:
        return calls["slot"] * SLOT_US
    return calls["in_flight"]["arrival_us"][np.arange(len(calls)), calls["waiting_node"]]


def _rows(observations, row):
    return {name: value[row] for name, value in observations.items()} if isinstance(observations, dict) else {"features": observations[row]}


def _check(env_id, border, **arguments):
    settings = {"num_envs": 3, "packets": PACKETS, "autoreset_mode": AutoresetMode.DISABLED, "feedback_loss": 0.05, **arguments}
    real, changed = (gymnasium.make_vec(env_id, **ABSOLUTE[env_id] | settings).unwrapped for _ in range(2))
    changed.batch.world = ChangedWorld(changed.batch.world, border)
    real.action_space.seed(6)
    seen, other = real.reset(seed=31)[0], changed.reset(seed=31)[0]
    rewards, others = np.zeros(3), np.zeros(3)
    same, moved, paid_later = 0, 0, np.zeros(3)
    while True:
        before = now_us(real) <= border * SLOT_US
        for row in range(3):
            equal = all(np.array_equal(a, b) for a, b in zip(_rows(seen, row).values(), _rows(other, row).values(), strict=True))
            if before[row]:
                assert equal and rewards[row] == others[row]
                same += 1
            moved += not equal
        actions = real.action_space.sample()
        seen, rewards, _, over, _ = real.step(actions)
        other, others, _, over_changed, _ = changed.step(actions)
        paid_later += rewards - others
        if over.any() or over_changed.any():
            assert same > 0 or (border == 0 and real.at_arrivals)
            return moved, paid_later


@pytest.mark.parametrize("observation", ["features", "records"])
@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
def test_the_future_does_not_leak(path_env_id, scenario, mode, observation, monkeypatch):
    if scenario == "leo":
        monkeypatch.setattr(leo, "measured", _MEASURED if mode == "measured" else lambda data: (_series(), "synthetic"))
        mode = "replay"
    for border in BORDERS:
        moved, paid_later = _check(path_env_id, border, scenario=scenario, mode=mode, observation=observation)
        assert moved > 0 and (paid_later != 0.0).all()  # the change was felt afterwards: the comparison can fail


FURTHER = [
    pytest.param("vcgym/Relay-v1", {"predictor": random_network(0)}, id="forecast"),
    pytest.param("vcgym/Call-v1", {"predictor": random_network(0)}, marks=pytest.mark.long, id="forecast by Call"),
    *(
        ("vcgym/Call-v1", {"scenario": "table1", "mode": mode, "observation": observation, "uplink": "rate", "interval": 5})
        for mode in ("correlated", "paper") for observation in ("features", "records")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("env_id", "arguments"), FURTHER, ids=str)
def test_the_future_does_not_leak_into_forecasts_or_past_an_uplink(env_id, arguments):
    for border in BORDERS:
        moved, paid_later = _check(env_id, border, **arguments)
        assert moved > 0 and (paid_later != 0.0).all()


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_a_learned_pair_knows_nothing_of_later(mode):
    """Packets before the change take the same paths, and what has been emitted by then has been emitted at the same instants."""
    scenario = Scenario("wonderproxy", mode, PACKETS)
    draws = [scenario.draw("train", seed) for seed in range(3)]
    for border in BORDERS[1:]:
        played = []
        for world in (scenario.world(3), ChangedWorld(scenario.world(3), border)):
            batch = CallBatch(scenario, 3, *load_system("learned").chosen, log=True, world=world)
            for row, draw in enumerate(draws):
                batch.start(row, draw)
            batch.play(np.arange(3))
            played.append(batch.played())
        real, changed = played
        np.testing.assert_array_equal(real.path[:, : border + 1], changed.path[:, : border + 1])
        out = (real.emitted_us >= 0) & (real.emitted_us <= border * SLOT_US)
        assert out.any()
        np.testing.assert_array_equal(real.emitted_us[out], changed.emitted_us[out])
        assert (real.path != changed.path).any() or (real.emitted_us != changed.emitted_us).any()


def _series():
    draws = np.random.default_rng(1)
    shape = (len(leo.SERIES), 6000)
    table = 20_000 + 4_000 * np.arange(shape[0])[:, None] + draws.gamma(2.0, 3_000.0, shape).astype(np.int64)
    table[draws.random(shape) < 0.03] = LOST
    return table
