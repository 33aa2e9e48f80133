"""Policies of the library as published agents: they act as the model itself, and those that ship load, play and are ranked by name."""

from copy import deepcopy

import numpy as np
import pytest
from sb3_contrib import ARS, TRPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from torch import nn

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.names import _agent
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.evaluate import require_fit
from vcgym.agents.published.export import CARD, WEIGHTS, load_agent, publish, read_card
from vcgym.agents.published.shipped import shipped_folder, shipped_names
from vcgym.agents.sb3 import make_vec_env
from vcgym.agents.training.flat_policy import flat_policy
from vcgym.leaderboard.evaluation.own.own_methods import own_methods
from vcgym.leaderboard.evaluation.participants import shipped_agent
from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite, prepare

RELAY = "vcgym/Relay-v1"
SMALL = {"seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [6, 5]}}
MAX_SHIPPED_BYTES = 100_000

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def envs():
    made = make_envs(EnvConfig(id=RELAY), 2, "validation")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("learner", "arguments"),
    [
        (PPO, SMALL),
        (A2C, SMALL),
        (TRPO, SMALL),
        (ARS, SMALL),
        (DQN, SMALL | {"buffer_size": 10}),
        (PPO, SMALL | {"policy_kwargs": {"activation_fn": nn.ReLU}}),
    ],
)
def test_a_published_policy_acts_as_its_model(learner, arguments, envs, tmp_path):
    model = learner("MlpPolicy", make_vec_env(RELAY), **deepcopy(arguments))  # A2C adds its optimiser to policy_kwargs
    for layer in (one for one in model.policy.modules() if isinstance(one, nn.Linear)):
        nn.init.normal_(layer.weight)  # the last layer of a fresh policy is so small that its actions hardly depend on the features
    agent = flat_policy(model, RELAY, observation_parts(envs, flat=True))
    publish(tmp_path / "agent", agent, algorithm="it", steps=0, seed=0, config_hash="")
    require_fit(tmp_path / "agent", envs)
    rows = np.random.default_rng(0).uniform(-1.0, 3.0, (300, *model.observation_space.shape)).astype(np.float32)
    actions = load_agent(tmp_path / "agent", RELAY).predict(rows)[0]
    assert set(actions) == {0, 1}
    np.testing.assert_array_equal(actions, model.predict(rows, deterministic=True)[0])


def test_a_policy_of_another_form_is_refused(envs):
    parts = observation_parts(envs, flat=True)
    with pytest.raises(ValueError, match="policy is SACPolicy; allowed: MlpPolicy of PPO, A2C, TRPO, ARS or DQN"):
        flat_policy(SAC("MlpPolicy", make_vec_env(RELAY, env_kwargs={"action": "relative_continuous"}), buffer_size=10), RELAY, parts)
    curved = SMALL | {"policy_kwargs": {"activation_fn": nn.ELU}}
    with pytest.raises(ValueError, match=r"policy is ActorCriticPolicy; allowed: .* with tanh or ReLU"):
        flat_policy(PPO("MlpPolicy", make_vec_env(RELAY), **curved), RELAY, parts)


@pytest.mark.parametrize("name", shipped_names())
def test_each_shipped_agent_is_small_and_plays(name):
    folder = shipped_folder(_agent(name))
    card = read_card(folder)
    assert name == f"{card.algorithm.removeprefix('SB3-')}-{card.env_id.removeprefix('vcgym/')}"
    assert sum((folder / file).stat().st_size for file in (CARD, WEIGHTS)) < MAX_SHIPPED_BYTES
    agent, played = load_agent(folder), make_envs(EnvConfig(id=card.env_id), 2, "validation")
    require_fit(folder, played)
    observation, _ = played.reset(seed=0)
    for _ in range(3):
        observation, reward, *_ = played.step(agent.predict(observation)[0])
    played.close()
    assert np.isfinite(reward).all()


def test_a_shipped_agent_is_ranked_by_name_where_its_environment_plays():
    of_call = next(name for name in shipped_names() if name.endswith("-Call-v1"))
    suite = Suite("tiny", "v0", 200, (Part("wonderproxy", "paper", 1),))
    found, told = own_methods({"MINE": [of_call]}, {}, suite, prepare(suite))
    assert found["MINE"].env == "vcgym/Call-v1" and found["MINE"].policy().training_decisions >= 100_000
    said = "action relative_discrete, interval 50 packets (0.5 s); it ships, and plays with the defaults of vcgym/Call-v1."
    assert told == [f"MINE, {of_call}: {said}"]
    of_order = next(name for name in shipped_names() if name.endswith("-SendOrder-v1"))
    assert shipped_agent("MINE", of_order, SUITES["order-v0"]).env == "vcgym/SendOrder-v1"
    with pytest.raises(ValueError, match=r"agents\.MINE: .* is of vcgym/Call-v1; allowed: .*vcgym/Rate-v1"):
        shipped_agent("MINE", of_call, SUITES["rate-v0"])
    with pytest.raises(ValueError, match="agent is 'NONE'; allowed: "):
        shipped_folder("NONE")
