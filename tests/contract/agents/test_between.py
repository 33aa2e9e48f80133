"""A model acts on a board as it did behind the wrappers of its training: call by call equal, or refused; also from a zip."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecEnvWrapper,
    VecExtractDictObs,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own
from vcgym.agents.evaluation.saved_model import Normaliser, beside
from vcgym.agents.sb3 import NativeVecEnv, make_vec_env

CALLS, SEED = {"packets": 1000}, 5
BOX = CALLS | {"action": "relative_continuous"}
PARTS = CALLS | {"observation": "dict"}

pytestmark = pytest.mark.usefixtures("one_thread")


def native(n_envs=2, **arguments):
    return make_vec_env("vcgym/Call-v1", n_envs=n_envs, env_kwargs=CALLS | arguments)


def separate(wrapper, n_envs=2, **arguments):
    return make_vec_env("vcgym/Call-v1", n_envs=n_envs, env_kwargs=CALLS | arguments, wrapper_class=wrapper)


def batch(*around):
    envs = gymnasium.make_vec("vcgym/Call-v1", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP, **CALLS)
    for wrapper in around:
        envs = wrapper(envs)
    return NativeVecEnv(envs)


def batch_of_boxes():
    envs = gymnasium.make_vec("vcgym/Call-v1", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP, **BOX)
    return NativeVecEnv(wrappers.vector.RescaleAction(envs, np.float32(0), np.float32(0.5)))


class Halved(gymnasium.ObservationWrapper):
    def observation(self, observation):
        return observation / 2


class Differences(gymnasium.ObservationWrapper):
    last = 0.0

    def observation(self, observation):
        changed, self.last = observation - self.last, observation
        return changed


class Own(VecEnvWrapper):
    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        return self.venv.step_wait()


doubled = partial(wrappers.TransformObservation, func=lambda seen: 2 * seen, observation_space=spaces.Box(-2, 40, (26,)))
turned = partial(wrappers.TransformAction, func=lambda action: -action, action_space=spaces.Box(-1, 1, (2,)))
named = partial(VecNormalize, norm_obs_keys=["call"], clip_obs=3.0)
REPLAYED = {
    "normalised": lambda: VecNormalize(native()),
    "normalised and clipped": lambda: VecNormalize(VecMonitor(VecCheckNan(native())), clip_obs=0.5),
    "rewards alone": lambda: VecNormalize(native(), norm_obs=False),
    "stack of normalised": lambda: VecFrameStack(VecNormalize(native()), 3),
    "normalised stack": lambda: VecNormalize(VecFrameStack(native(), 3)),
    "some parts": lambda: named(native(observation="dict")),
    "stack of parts": lambda: VecFrameStack(native(observation="dict"), 2),
    "one part": lambda: VecNormalize(VecExtractDictObs(native(observation="dict"), "call")),
    "gymnasium's stack": lambda: separate(partial(wrappers.FrameStackObservation, stack_size=3)),
    "with zeros": lambda: separate(partial(wrappers.FrameStackObservation, stack_size=3, padding_type="zero")),
    "flat stack": lambda: separate(lambda env: wrappers.FlattenObservation(wrappers.FrameStackObservation(env, 3))),
    "flat parts": lambda: separate(wrappers.FlattenObservation, observation="dict"),
    "rescaled": lambda: separate(partial(wrappers.RescaleObservation, min_obs=np.float32(0), max_obs=np.float32(1))),
    "own and stateless": lambda: separate(Halved),
    "function": lambda: VecNormalize(separate(doubled)),
    "actions rescaled": lambda: separate(partial(wrappers.RescaleAction, min_action=np.float32(0), max_action=np.float32(0.5)), **BOX),
    "actions turned": lambda: separate(turned, **BOX),
    "time limit": lambda: separate(partial(wrappers.TimeLimit, max_episode_steps=4)),
    "one normalised": lambda: separate(wrappers.NormalizeObservation, n_envs=1),
    "batch watched": lambda: batch(wrappers.vector.RecordEpisodeStatistics),
}  # fmt: skip


def trained(calls):
    """A model, and statistics that its training has moved and that stand still from now on."""
    policy = "MultiInputPolicy" if isinstance(calls.observation_space, spaces.Dict) else "MlpPolicy"
    model = PPO(policy, calls, n_steps=16, batch_size=8, n_epochs=1, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}).learn(64)
    while calls is not None:
        calls.training = False
        for env in np.atleast_1d(getattr(calls, "envs", [])).tolist():
            freeze(env)
        calls = getattr(calls, "venv", None)
    return model


def freeze(env):
    while env is not env.unwrapped:
        if hasattr(type(env), "update_running_mean"):
            env.update_running_mean = False
        env = env.env


def seen_in_training(model):
    """What the network sees in four decisions of its wrapped environment."""
    calls = model.get_env()
    calls.seed(SEED)
    seen = [calls.reset()]
    for _ in range(3):
        seen.append(calls.step(model.predict(seen[-1], deterministic=True)[0])[0])
        seen[-1] = {name: part.copy() for name, part in seen[-1].items()} if isinstance(seen[-1], dict) else seen[-1].copy()
    return seen


def seen_on_a_board(own, model, monkeypatch):
    """What the network sees in four decisions of the environment itself."""
    seen, predict = [], model.predict
    monkeypatch.setattr(model, "predict", lambda observation, **given: seen.append(observation) or predict(observation, **given))
    envs = gymnasium.make_vec("vcgym/Call-v1", num_envs=model.n_envs, **own.made_with["options"])
    observation, state = envs.reset(seed=SEED)[0], None
    for _ in range(4):
        actions, state = own.predict(observation, state)
        observation = envs.step(actions)[0]
    return seen


def check(own, model, monkeypatch, expected):
    found = seen_on_a_board(own, model, monkeypatch)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_equal(one, other)


NOT_SAVED = {"flat parts", "one normalised", "batch watched"}


@pytest.mark.parametrize("name", REPLAYED)
def test_a_network_sees_on_a_board_what_it_saw_in_training_also_from_a_zip(name, tmp_path, monkeypatch):
    model = trained(REPLAYED[name]())
    expected, statistics = seen_in_training(model), tmp_path / "vecnormalize.pkl"
    model.save(tmp_path / "mine.zip")
    if model.get_vec_normalize_env() is not None:
        model.get_vec_normalize_env().save(statistics)
    check(OwnPolicy(model), model, monkeypatch, expected)
    if name in NOT_SAVED:
        return
    loaded = load_own(str(tmp_path / "mine.zip"))
    own = OwnPolicy(loaded)
    raw = gymnasium.make_vec("vcgym/Call-v1", **own.made_with["options"]).single_observation_space
    # The ranges of "function" are so wide that a normalised observation may be a raw one.
    own.complete(raw, beside(tmp_path / "mine.zip") if name != "function" else Normaliser(statistics))
    loaded.n_envs = model.n_envs
    check(own, loaded, monkeypatch, expected)


REFUSED = {
    "behind Own, which cannot": lambda: Own(native()),
    "behind RescaleAction, whose state": batch_of_boxes,
    "behind TimeAwareObservation, whose state": lambda: separate(lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 9))),
    "behind DelayObservation, whose state": lambda: separate(partial(wrappers.DelayObservation, delay=2)),
    "behind MaxAndSkipObservation, whose state": lambda: separate(wrappers.MaxAndSkipObservation),
    "behind StickyAction, whose state": lambda: separate(partial(wrappers.StickyAction, repeat_action_probability=0.5)),
    "behind NormalizeObservation, whose statistics": lambda: separate(wrappers.NormalizeObservation),
    "behind Differences, whose state": lambda: separate(Differences),
}


@pytest.mark.parametrize(("message", "made"), REFUSED.items())
def test_what_cannot_be_replayed_is_refused(message, made, tmp_path):
    model = trained(made())
    with pytest.raises(ValueError, match=f"agent was trained {message}"):
        OwnPolicy(model).predict(np.zeros((2, 26), np.float32))
    if not message.startswith(("behind Own", "behind RescaleAction")):  # a zip names the wrappers that make_vec_env made
        model.save(tmp_path / "mine.zip")
        with pytest.raises(ValueError, match=f"agent was trained {message.partition(',')[0]}"):
            OwnPolicy(load_own(str(tmp_path / "mine.zip"))).predict(np.zeros((2, 26), np.float32))
