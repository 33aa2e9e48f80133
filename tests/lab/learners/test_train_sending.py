"""Tiny trainings of sender controls: a rate agent beats GCC on unseen worlds, and an interrupted SAC resumes identically."""

import shutil

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from twins.sender_policy import RatePolicy
from twins.sender_records import WITH_RECORDS
from vcgym.agents.config.algorithms import MaskablePPOConfig, PPOConfig, SACConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import episode_returns
from vcgym.agents.networks.observation import count_items, item_part
from vcgym.agents.published.export import load_agent, read_card
from vcgym.agents.training.learners import build_model, snapshot
from vcgym.agents.training.training import train
from vcgym.baselines.rate.gcc.gcc import GccWebrtc

pytestmark = pytest.mark.long  # trains

RATE, ORDER = "vcgym/Rate-v1", "vcgym/SendOrder-v1"
CALL = EnvConfig(id="vcgym/Call-v1", options=ABSOLUTE["vcgym/Call-v1"] | {"scenario": "table1", "packets": 200, "action": "continuous"})
OPTIONS = ABSOLUTE[RATE] | {"seconds": 15.0}
CALLS = 24


def test_an_agent_of_the_rate_beats_gcc(tmp_path):
    ppo = PPOConfig(n_steps=64, batch_size=512, n_epochs=5, learning_rate=2e-3, gamma=0.95, gae_lambda=0.95, hidden=32)
    env = EnvConfig(id=RATE, options=OPTIONS)
    config = TrainConfig(env=env, algorithm=ppo, num_envs=32, steps=60_000, evaluation_episodes=4, device="cpu", folder=tmp_path)
    agent = load_agent(train(config, 1).agent, RATE)
    after = episode_returns(agent, make_envs(config.env, CALLS, "validation"), seed=7)
    rule = RatePolicy(GccWebrtc())
    reads = {"action": rule.action, "split": "validation"}
    envs = gymnasium.make_vec(WITH_RECORDS[RATE], num_envs=CALLS, autoreset_mode=AutoresetMode.SAME_STEP, **OPTIONS | reads)
    before = episode_returns(rule, envs, seed=7)
    assert after.mean() > before.mean() + 0.5
    assert np.mean(after > before) > 0.5


def test_maskable_ppo_trains_and_publishes_an_agent_of_the_order(tmp_path):
    ppo = MaskablePPOConfig(n_steps=32, batch_size=64, n_epochs=1, hidden=8)
    env = EnvConfig(id=ORDER, options=ABSOLUTE[ORDER] | {"seconds": 2.0})
    config = TrainConfig(env=env, algorithm=ppo, num_envs=4, steps=256, evaluation_episodes=2, device="cpu", folder=tmp_path)
    folder = train(config, 0).agent
    card = read_card(folder)
    assert (card.algorithm, item_part(card.observation).name, count_items(card.observation)) == ("MaskablePPO", "queue", 5)
    assert not card.squashed
    longer = make_envs(env.model_copy(update={"options": env.options | {"send_queue": 32}}), 3, "validation")
    assert episode_returns(load_agent(folder, ORDER), longer, seed=1).shape == (3,)


SAC_SMALL = SACConfig(n_steps=2, gradient_steps=2, batch_size=16, buffer_size=200, learning_starts=60, hidden=8)


def sac(folder, **changes):
    env = EnvConfig(id=RATE, options=ABSOLUTE[RATE] | {"seconds": 2.0})
    common = {"num_envs": 4, "steps": 400, "evaluation_episodes": 2, "evaluate_every": 20, "checkpoint_every": 10, "device": "cpu"}
    return TrainConfig(algorithm=SAC_SMALL, folder=folder, resume=True, **{"env": env} | common | changes)


@pytest.mark.parametrize("env", [EnvConfig(id=RATE, options=ABSOLUTE[RATE] | {"seconds": 2.0}), CALL])
def test_a_sac_snapshot_acts_as_its_model(tmp_path, env):
    config = sac(tmp_path, env=env)
    model = build_model(config, seed=1)
    model.learn(200)
    observations = np.random.default_rng(1).normal(size=(300, model.observation_space.shape[0])).astype(np.float32)
    expected, _ = model.predict(observations, deterministic=True)
    found, _ = snapshot(model, config).predict(observations)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(found) > 0.01


def test_sac_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    agent = train(sac(tmp_path), 0).agent
    assert (read_card(agent).algorithm, read_card(agent).squashed) == ("SAC", True)
    home = tmp_path / "seed-0"
    last, before = sorted((home / "checkpoints").iterdir(), reverse=True)
    assert before.name == "step-000000000320"
    whole = {path.name: path.read_bytes() for path in (*agent.iterdir(), *last.iterdir())}
    shutil.rmtree(agent)
    shutil.rmtree(last)
    train(sac(tmp_path), 0)
    assert {path.name: path.read_bytes() for path in (*agent.iterdir(), *last.iterdir())} == whole


def test_sac_trains_an_agent_of_path_and_lag_that_acts_on_other_paths(tmp_path):
    folder = train(sac(tmp_path, env=CALL), 0).agent
    agent = load_agent(folder, CALL.id)
    assert (count_items(agent.parts), agent.squashed) == (5, True)
    wider = make_envs(CALL.model_copy(update={"options": CALL.options | {"scenario": "wonderproxy"}}), 3, "validation")
    assert np.isfinite(episode_returns(agent, wider, seed=1)).all()
