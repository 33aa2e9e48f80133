"""Training on the native environments is training on the scalar ones: bit-equal through the adapter and through DummyVecEnv."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.sb3 import NativeVecEnv


def test_native_equals_scalar_step_by_step(env_id, short):
    ours = NativeVecEnv(gymnasium.make_vec(env_id, num_envs=3, autoreset_mode=AutoresetMode.SAME_STEP, **short))
    theirs = DummyVecEnv([partial(gymnasium.make, env_id, **short)] * 3)
    ours.seed(11)
    theirs.seed(11)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    ours.action_space.seed(5)
    ends = 0
    for _ in range(400):
        actions = np.stack([ours.action_space.sample() for _ in range(3)])
        mine, reference = ours.step(actions), theirs.step(actions)
        for got, expected in zip(mine[:3], reference[:3], strict=True):
            assert got.tobytes() == expected.tobytes()
        for got, expected in zip(mine[3], reference[3], strict=True):
            assert got["TimeLimit.truncated"] == expected["TimeLimit.truncated"]
            assert ("terminal_observation" in got) == ("terminal_observation" in expected)
            if "terminal_observation" in got:
                assert got["terminal_observation"].tobytes() == expected["terminal_observation"].tobytes()
                assert got["TimeLimit.truncated"]
                ends += 1
    assert ends >= 6


@pytest.mark.long
def test_three_lines_are_enough():
    model = PPO("MlpPolicy", "vcgym/Call-v1", n_steps=32, batch_size=32, device="cpu").learn(32)
    assert model.num_timesteps == 32
    model.env.close()
