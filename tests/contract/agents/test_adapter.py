"""The SB3 adapter equals SB3's own DummyVecEnv over scalar environments, step by step; so does training on ours."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.sb3 import NativeVecEnv


class Countdown(gymnasium.Env):
    """A seeded walk that ends by truncation at a drawn time, or by termination when it falls below zero."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(2, 9))
        self.position = self.np_random.normal() + 2.0
        return self._observation(), {"left": self.left}

    def step(self, action):
        self.left -= 1
        self.position += self.np_random.normal() + action - 1
        infos = {"left": self.left, "parts": {"position": self.position}}
        return self._observation(), float(action), bool(self.position < 0), self.left == 0, infos

    def _observation(self):
        return np.array([self.left, self.position, self.np_random.normal()], dtype=np.float32)


class Reusing(VectorEnv):
    """One buffer for all observations, as a fast environment may have; an episode is two steps long."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    single_observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    single_action_space = spaces.Discrete(2)

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.buffer = np.zeros((num_envs, 2), dtype=np.float32)
        self.final = np.zeros((num_envs, 2), dtype=np.float32)
        self.clock = 0

    def reset(self, *, seed=None, options=None):
        self.buffer[:] = 0
        return self.buffer, {}

    def step(self, actions):
        self.clock += 1
        self.buffer[:] = self.clock
        done = np.full(self.num_envs, self.clock % 2 == 0)
        infos = {}
        if done.any():
            self.final[:] = self.buffer
            self.buffer[:] = -1
            infos = {"final_obs": self.final, "_final_obs": done}
        return self.buffer, np.ones(self.num_envs), np.zeros(self.num_envs, dtype=bool), done, infos


def native(num_envs, mode=AutoresetMode.SAME_STEP):
    return SyncVectorEnv([Countdown] * num_envs, autoreset_mode=mode)


@pytest.mark.parametrize("seed", [0, 7])
def test_equals_dummy_vec_env_step_by_step(seed):
    ours, theirs = NativeVecEnv(native(3)), DummyVecEnv([Countdown] * 3)
    assert ours.seed(seed) == theirs.seed(seed)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    assert ours.reset_infos == theirs.reset_infos
    actions = np.random.default_rng(seed)
    ended = {"terminated": 0, "truncated": 0}
    for _ in range(200):
        action = actions.integers(0, 3, size=3)
        mine, reference = ours.step(action), theirs.step(action)
        for got, expected in zip(mine[:3], reference[:3], strict=True):
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
        for got, expected in zip(mine[3], reference[3], strict=True):
            assert got.keys() == expected.keys()
            np.testing.assert_equal(got, expected)
        for i in np.flatnonzero(mine[2]):
            ended["truncated" if mine[3][i]["TimeLimit.truncated"] else "terminated"] += 1
        assert ours.reset_infos == theirs.reset_infos
    assert min(ended.values()) > 5


@pytest.mark.long
def test_an_id_is_enough_for_the_library():
    model = PPO("MlpPolicy", "vcgym/Call-v1", n_steps=32, batch_size=32, device="cpu").learn(32)
    assert model.num_timesteps == 32
    model.env.close()


def test_observations_handed_out_are_copies():
    envs = NativeVecEnv(Reusing(2))
    seen = [envs.reset()]
    ends = []
    for _ in range(4):
        observation, _, done, infos = envs.step(np.zeros(2, dtype=np.int64))
        seen.append(observation)
        ends += [info["terminal_observation"] for info in infos if "terminal_observation" in info]
        assert all(info["TimeLimit.truncated"] == d for info, d in zip(infos, done, strict=True))
    np.testing.assert_array_equal([observation[0, 0] for observation in seen], [0, 1, -1, 3, -1])
    np.testing.assert_array_equal([end[0] for end in ends], [2, 2, 4, 4])


def test_seed_is_used_once():
    envs = NativeVecEnv(native(2))
    envs.seed(3)
    first, second = envs.reset(), envs.reset()
    assert not np.array_equal(first, second)
    envs.seed(3)
    np.testing.assert_array_equal(envs.reset(), first)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_other_autoreset_modes_are_refused(mode):
    with pytest.raises(ValueError, match=r"autoreset_mode .* allowed: .*SAME_STEP"):
        NativeVecEnv(native(2, mode))


def test_no_session_is_refused():
    with pytest.raises(ValueError, match=r"num_envs .* is 0; allowed: at least 1"):
        NativeVecEnv(Reusing(0))


def test_attributes_are_those_of_the_batch():
    envs = NativeVecEnv(native(3))
    assert envs.get_attr("num_envs") == [3, 3, 3]
    assert envs.get_attr("num_envs", indices=[1]) == [3]
    assert envs.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    with pytest.raises(NotImplementedError, match="step_fast"):
        envs.env_method("step_fast")


REFUSED = {"observation": r"observation \[1\] of session 1 is nan", "reward": "reward of session 1 is inf"}


@pytest.mark.parametrize(("name", "message"), REFUSED.items())
def test_values_that_are_no_numbers_are_refused_by_name_and_step(name, message):
    class Poisoned(Reusing):
        def step(self, actions):
            observations, rewards, *rest = super().step(actions)
            if self.clock == 3:
                (observations if name == "observation" else rewards)[1] = (0.0, np.nan) if name == "observation" else np.inf
            return observations, rewards, *rest

    envs = NativeVecEnv(Poisoned(2))
    envs.reset()
    for _ in range(2):
        envs.step(np.zeros(2, int))
    with pytest.raises(ValueError, match=f"{message} after 3 steps of .*; allowed: a finite number"):
        envs.step(np.zeros(2, int))
