"""The environments satisfy Gymnasium's and Stable-Baselines3's contracts; pytest turns every warning of the checkers into an error."""

import multiprocessing
from functools import partial

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, BY_PARTS
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from matplotlib import pyplot
from matplotlib.figure import Figure
from stable_baselines3.common.env_checker import check_env as check_env_sb3

WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]


class OneOfNative(gymnasium.Env):
    """The native environment of one session without its batch axis."""

    def __init__(self, env_id, **arguments):
        self.native = gymnasium.make_vec(env_id, num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **arguments).unwrapped
        self.observation_space = self.native.single_observation_space
        self.action_space = self.native.single_action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observations, infos = self.native.reset(seed=seed, options=options)
        return self._first(observations), self._own(infos)

    def step(self, action):
        observations, rewards, terminated, truncated, infos = self.native.step(np.asarray(action)[None])
        return self._first(observations), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), self._own(infos)

    @staticmethod
    def _own(infos):
        return {name: value[0] for name, value in infos.items() if not name.startswith("_")}

    @staticmethod
    def _first(observations):
        if isinstance(observations, dict):
            return {name: np.asarray(value[0]) for name, value in observations.items()}
        return observations[0]


@pytest.mark.parametrize("arguments", [{}, {"reward": "emodel"}], ids=str)
def test_both_checkers_pass(env_id, short, arguments):
    env = gymnasium.make(env_id, **short | arguments).unwrapped
    check_env(env)
    check_env_sb3(env)


@pytest.mark.parametrize("arguments", [{"action": "continuous"}, {"reward": "event", "mode": "paper"}], ids=str)
def test_both_checkers_pass_in_other_forms(path_env_id, arguments):
    env = gymnasium.make(path_env_id, packets=200, **ABSOLUTE[path_env_id] | arguments).unwrapped
    check_env(env)
    check_env_sb3(env)


def test_parts_pass_gymnasiums_checker(env_id, short):
    check_env(gymnasium.make(env_id, observation=BY_PARTS[env_id], **short).unwrapped)


@pytest.mark.parametrize("by_parts", [False, True], ids=["features", "parts"])
def test_scalar_matches_the_native_env_of_one(env_id, short, by_parts):
    arguments = {"observation": BY_PARTS[env_id]} if by_parts else {}
    scalar = gymnasium.make(env_id, **short, **arguments)
    check_environments_match(scalar, OneOfNative(env_id, **short, **arguments), num_steps=450, seed=3)


def test_scalar_matches_the_native_env_of_one_in_other_forms(path_env_id):
    arguments = ABSOLUTE[path_env_id] | {"action": "continuous", "reward": "event", "mode": "paper", "packets": 200}
    check_environments_match(gymnasium.make(path_env_id, **arguments), OneOfNative(path_env_id, **arguments), num_steps=450, seed=3)


@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
def test_observations_lie_in_their_space(path_env_id, scenario, mode):
    for observation in ("features", "records"):
        worlds = {"packets": 600, "scenario": scenario, "mode": mode, "feedback_loss": 0.1}
        env = gymnasium.make(path_env_id, observation=observation, **worlds, **ABSOLUTE[path_env_id])
        env.action_space.seed(1)
        seen, _ = env.reset(seed=4)
        while True:
            assert env.observation_space.contains(seen)
            seen, _, terminated, over, _ = env.step(env.action_space.sample())
            assert not terminated
            if over:
                break
        assert env.observation_space.contains(seen)


def test_the_window_is_closed_with_the_environment(env_id, short):
    open_before = pyplot.get_fignums()
    env = gymnasium.make(env_id, render_mode="human", **short)
    env.reset(seed=4)
    assert len(pyplot.get_fignums()) == len(open_before) + 1
    env.close()
    env.close()
    assert pyplot.get_fignums() == open_before


def test_the_picture_shows_the_past_alone(path_env_id):
    env = gymnasium.make(path_env_id, packets=2000, render_mode="rgb_array", **ABSOLUTE[path_env_id])
    env.action_space.seed(1)
    env.reset(seed=4)
    before = env.render()
    for _ in range(12):
        env.step(env.action_space.sample())
        axes = Figure().add_subplot()
        env.unwrapped.native.draw(axes, 0)
        now_s = env.unwrapped.native.batch.calls["slot"][0] / 100
        assert 0 < max(max(line.get_xdata(), default=0) for line in axes.lines) < now_s
    assert env.render().shape == before.shape == (400, 720, 3) and (env.render() != before).any()
    assert axes.get_xlabel() == "time in the call (s)" and axes.get_ylabel() == "delay of a packet (ms)" and axes.get_title()
    assert gymnasium.make(path_env_id, packets=200).unwrapped.render() is None


def test_async_workers_fork_after_kernels_have_run():
    """A fork after kernels have run is safe, since the scalar environment never enters a parallel kernel."""
    assert "fork" in multiprocessing.get_all_start_methods()
    make = partial(gymnasium.make, "vcgym/Call-v1", packets=100, **ABSOLUTE["vcgym/Call-v1"])
    alone = make()
    first, _ = alone.reset(seed=8)
    second = alone.step([0, 12])
    workers = AsyncVectorEnv([make, make], context="fork")
    try:
        observations, _ = workers.reset(seed=8)
        np.testing.assert_array_equal(observations[0], first)
        observations, rewards, *_ = workers.step(np.array([[0, 12], [3, 20]]))
        np.testing.assert_array_equal(observations[0], second[0])
        assert rewards[0] == second[1]
    finally:
        workers.close()
