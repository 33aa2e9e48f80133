"""A tiny training on calls: without the initial rule, the agent learns to stay on good paths and beats random paths."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import episode_returns, evaluate
from vcgym.agents.networks.observation import ITEM_KINDS, count_items
from vcgym.agents.published.export import load_agent
from vcgym.agents.training.training import train
from vcgym.baselines.path.random_path import RandomPath
from vcgym.baselines.policy import RulePolicy

RELAY = "vcgym/Relay-v1"
OPTIONS = ABSOLUTE[RELAY] | {"packets": 300}
ENV = EnvConfig(id=RELAY, options=OPTIONS)
CALLS = 24


def returns_of_agent(policy, scenario, split):
    envs = make_envs(EnvConfig(id=RELAY, options=OPTIONS | {"scenario": scenario}), CALLS, split)
    return episode_returns(policy, envs, seed=7)


def returns_of_random(scenario, split):
    """Of the rule outside, decided as rarely as the agent decides, on the same worlds."""
    policy = RulePolicy(RandomPath())
    form = OPTIONS | {"observation": policy.reads, "action": policy.action}
    envs = gymnasium.make_vec(RELAY, num_envs=CALLS, autoreset_mode=AutoresetMode.SAME_STEP, scenario=scenario, split=split, **form)
    return episode_returns(policy, envs, seed=7)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What the training of an agent of 17 paths left, and its returns while it learned."""
    folder = tmp_path_factory.mktemp("learns")
    ppo = PPOConfig(n_steps=30, batch_size=240, n_epochs=4, learning_rate=3e-3, gamma=0.9, gae_lambda=0.95, hidden=16)
    config = TrainConfig(env=ENV, algorithm=ppo, num_envs=32, steps=28_800, evaluation_episodes=4, device="cpu", folder=folder)
    returns = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ITEM_KINDS, "paths", ITEM_KINDS["paths"]._replace(rule=({},)))
        result = train(config, 1, lambda metrics, steps: returns.append(metrics.get("rollout/ep_rew_mean", np.nan)))
    return result, returns


def test_it_learns(trained):
    _, returns = trained
    while_learning = np.array(returns)[np.isfinite(returns)]
    assert while_learning[-1] > while_learning[0] + 60


def test_it_beats_random_paths(trained):
    after = returns_of_agent(load_agent(trained[0].agent, RELAY), "wonderproxy", "validation")
    rule = returns_of_random("wonderproxy", "validation")
    assert after.mean() > rule.mean() + 100
    assert np.mean(after > rule) > 0.8


def test_it_acts_on_another_number_of_paths(trained):
    agent = load_agent(trained[0].agent, RELAY)
    assert count_items(agent.parts) == 17
    assert returns_of_agent(agent, "table1", "validation").mean() > returns_of_random("table1", "validation").mean() + 30


def test_loaded_it_earns_what_it_earned_when_trained(trained):
    result = trained[0]
    envs = make_envs(ENV, result.validation.episodes, "validation")
    assert evaluate(load_agent(result.agent, RELAY), envs, seed=0) == result.validation
