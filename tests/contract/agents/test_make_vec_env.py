"""`make_vec_env` takes every argument of Stable-Baselines3's function and does the same with it."""

import inspect

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_util import make_vec_env as of_sb3
from stable_baselines3.common.monitor import load_results
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from vcgym.agents.sb3 import make_vec_env
from vcgym.envs import IDS

SHORT = {"packets": 500}
ARGUMENTS = {
    "seed and start": {"seed": 3, "start_index": 4},
    "monitor": {"seed": 3, "monitor_kwargs": {"info_keywords": ("rating",)}},
    "monitor that SB3 makes": {"seed": 3, "monitor_kwargs": {"allow_early_resets": False}},
    "wrapper": {"seed": 3, "wrapper_class": TimeLimit, "wrapper_kwargs": {"max_episode_steps": 4}},
    "class": {"seed": 3, "vec_env_cls": DummyVecEnv, "vec_env_kwargs": {}},
}


def test_the_arguments_are_those_of_sb3():
    assert list(inspect.signature(make_vec_env).parameters) == list(inspect.signature(of_sb3).parameters)


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_they_do_the_same(arguments, tmp_path):
    made = [make("vcgym/Call-v1", 2, env_kwargs=SHORT, monitor_dir=str(tmp_path / name), **arguments) for name, make in PAIR.items()]
    np.testing.assert_array_equal(*(envs.reset() for envs in made))
    assert len({tuple(envs.action_space.sample() for _ in range(9)) for envs in made}) == 1
    for step in range(25):
        (seen, rewards, done, infos), other = (envs.step(np.full(2, step % 16)) for envs in made)
        for one, theirs in zip((seen, rewards, done), other, strict=False):
            np.testing.assert_array_equal(one, theirs)
        for info, theirs in zip(infos, other[3], strict=True):
            assert info.get("episode", {}).keys() == theirs.get("episode", {}).keys()
    for envs in made:
        envs.close()
    ours, theirs = (load_results(str(tmp_path / name)).sort_values(["l", "r"]) for name in PAIR)
    assert len(ours) == len(theirs)
    if "wrapper_class" in arguments:  # a limit outside of SB3's monitor ends no episode
        return
    assert len(ours) >= 4
    np.testing.assert_allclose(ours["r"], theirs["r"], rtol=1e-5)
    np.testing.assert_array_equal(ours["l"], theirs["l"])


PAIR = {"ours": make_vec_env, "theirs": of_sb3}


def test_a_function_that_makes_an_environment():
    envs = make_vec_env(lambda: gymnasium.make("vcgym/Playout-v1", packets=300), n_envs=2)
    assert isinstance(envs, DummyVecEnv) and envs.reset().shape == (2, 12)
    assert isinstance(make_vec_env("vcgym/Playout-v1"), VecMonitor)


@pytest.mark.parametrize("env_id", IDS.values())
@pytest.mark.parametrize("action", ["discrete", "relative", "relative_discrete"])
def test_masks_have_the_length_of_the_actions_or_are_not_there(env_id, action):
    form = {"action": action} | ({"interval": 1} if action == "discrete" else {})
    try:
        native = make_vec_env(env_id, 2, env_kwargs=form)
    except ValueError:
        return  # the environment has no such form
    separate = make_vec_env(env_id, 2, env_kwargs=form, vec_env_cls=DummyVecEnv)
    for envs in (native, separate):
        envs.reset()
        assert is_masking_supported(envs) == ("SendOrder" in env_id and action == "discrete")
        if is_masking_supported(envs):
            assert get_action_masks(envs).shape == (2, envs.action_space.n)
