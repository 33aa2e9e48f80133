"""Tiny trainings on the senders' levers: an agent of the rate beats GCC on worlds it has not seen, and MaskablePPO keeps to its masks."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.adapter import NativeVecEnv
from vcgym.agents.config import EnvConfig, PPOConfig, TrainConfig
from vcgym.agents.environments import make_envs
from vcgym.agents.evaluation import episode_returns
from vcgym.agents.export import load_agent
from vcgym.agents.training import train
from vcgym.baselines.gcc.gcc import GccWebrtc
from vcgym.baselines.sending.policy import RatePolicy

RATE, ORDER = "vcgym/Rate-v0", "vcgym/SendOrder-v0"
OPTIONS = {"seconds": 15.0}
CALLS = 24


def test_an_agent_of_the_rate_beats_gcc(tmp_path):
    ppo = PPOConfig(n_steps=64, batch_size=512, n_epochs=5, learning_rate=2e-3, gamma=0.95, gae_lambda=0.95, hidden=32)
    env = EnvConfig(id=RATE, options=OPTIONS)
    config = TrainConfig(env=env, algorithm=ppo, num_envs=32, steps=60_000, evaluation_episodes=4, device="cpu", folder=tmp_path)
    agent = load_agent(train(config, 1).agent, RATE)
    after = episode_returns(agent, make_envs(config.env, CALLS, "validation"), seed=7)
    rule = RatePolicy(GccWebrtc())
    reads = {"observation": rule.reads, "action": rule.action, "split": "validation"}
    envs = gymnasium.make_vec(RATE, num_envs=CALLS, autoreset_mode=AutoresetMode.SAME_STEP, **reads, **OPTIONS)
    before = episode_returns(rule, envs, seed=7)
    assert after.mean() > before.mean() + 0.5
    assert np.mean(after > before) > 0.5


def test_maskable_ppo_keeps_to_its_masks():
    envs = NativeVecEnv(gymnasium.make_vec(ORDER, num_envs=4, autoreset_mode=AutoresetMode.SAME_STEP, seconds=3.0))
    assert is_masking_supported(envs)
    model = MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=64, seed=0, device="cpu").learn(512)  # a masked-out action would raise
    observations = envs.reset()
    for _ in range(50):
        masks = get_action_masks(envs)
        actions, _ = model.predict(observations, action_masks=masks)
        assert masks[np.arange(4), actions].all()
        observations, *_ = envs.step(actions)


def test_maskable_ppo_on_the_scalar_face():
    model = MaskablePPO("MlpPolicy", gymnasium.make(ORDER, seconds=3.0), n_steps=64, batch_size=64, seed=0, device="cpu").learn(128)
    assert model.num_timesteps == 128
